// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.tensorflow.EagerSession;
import org.tensorflow.Graph;
import org.tensorflow.Session;
import org.tensorflow.exceptions.TFFailedPreconditionException;
import org.tensorflow.exceptions.TFInvalidArgumentException;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.tpu.ConfigureTPUEmbedding;
import org.tensorflow.op.tpu.EnqueueTPUEmbeddingIntegerBatch;
import org.tensorflow.op.tpu.SendTPUEmbeddingGradients;

/** Errors of the engine are exceptions in Java, with its message, and the process goes on. */
@ExtendWith(Tpuless.class)
final class RefusalTest {
  private static final Training TRAINING = Training.read().get("SGD");
  private static final String CONFIG = Tpuless.asString(TRAINING.configBytes());

  private static final String OUT_OF_RANGE =
      "table 'table0': id 7 of sample 3 (embedding_indices[3]) must be >= 0 and < vocabulary_size"
          + " (7)";

  private static Op enqueue(Ops tf, int lastId) {
    return EnqueueTPUEmbeddingIntegerBatch.create(
        tf.scope(), List.of(tf.constant(new int[] {0, 1, 2, lastId})), tf.constant("train"));
  }

  @Test
  void idOutOfRangeIsInvalidArgumentInGraphs() {
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      session.run(ConfigureTPUEmbedding.create(tf.scope(), CONFIG));
      Op refused = enqueue(tf, 7);

      var error = assertThrows(TFInvalidArgumentException.class, () -> session.run(refused));

      assertEquals(
          OUT_OF_RANGE + "\n\t [[{{node EnqueueTPUEmbeddingIntegerBatch}}]]", error.getMessage());
      session.run(enqueue(tf, 6));
    }
  }

  @Test
  void idOutOfRangeIsInvalidArgumentInEagerMode() {
    try (EagerSession session = EagerSession.create()) {
      Ops tf = Ops.create(session);
      ConfigureTPUEmbedding.create(tf.scope(), CONFIG);

      var error = assertThrows(TFInvalidArgumentException.class, () -> enqueue(tf, 7));

      assertEquals(OUT_OF_RANGE, error.getMessage());
      enqueue(tf, 6);
    }
  }

  @Test
  void sendBeforeConfigureIsFailedPrecondition() {
    try (EagerSession session = EagerSession.create()) {
      Ops tf = Ops.create(session);
      var gradients = tf.constant(new float[4][3]);

      var error =
          assertThrows(
              TFFailedPreconditionException.class,
              () ->
                  SendTPUEmbeddingGradients.create(
                      tf.scope(), List.of(gradients), List.of(), CONFIG));

      assertEquals("no engine is configured; run ConfigureTPUEmbedding first", error.getMessage());
    }
  }
}
