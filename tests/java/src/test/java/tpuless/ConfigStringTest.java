// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.tensorflow.EagerSession;
import org.tensorflow.Graph;
import org.tensorflow.Output;
import org.tensorflow.Session;
import org.tensorflow.exceptions.TFInvalidArgumentException;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.tpu.ConfigureTPUEmbedding;
import org.tensorflow.op.tpu.EnqueueTPUEmbeddingIntegerBatch;
import org.tensorflow.op.tpu.LoadTPUEmbeddingStochasticGradientDescentParameters;
import org.tensorflow.op.tpu.RecvTPUEmbeddingActivations;
import org.tensorflow.op.tpu.SendTPUEmbeddingGradients;
import org.tensorflow.types.TFloat32;

/** What becomes of a serialized configuration that TF Java takes as a String. */
@ExtendWith(Tpuless.class)
final class ConfigStringTest {
  private static final Training TRAINING = Training.read().get("SGD");
  private static final byte[] CONFIG = TRAINING.configBytes();
  private static final String LATIN_1 = new String(CONFIG, StandardCharsets.ISO_8859_1);
  private static final String UTF_8 = new String(CONFIG, StandardCharsets.UTF_8);

  private static void load(Ops tf, Session session, String config) {
    session.run(ConfigureTPUEmbedding.create(tf.scope(), config));
    session.run(
        LoadTPUEmbeddingStochasticGradientDescentParameters.create(
            tf.scope(),
            tf.constant(TRAINING.tables.get(0).loaded.get(0)),
            1L,
            0L,
            LoadTPUEmbeddingStochasticGradientDescentParameters.tableName("table0"),
            LoadTPUEmbeddingStochasticGradientDescentParameters.config(config)));
  }

  private static Op enqueue(Ops tf) {
    return EnqueueTPUEmbeddingIntegerBatch.create(
        tf.scope(), List.of(tf.constant(new int[] {0, 1, 2, 3})), tf.constant("train"));
  }

  private static Op send(Ops tf, Output<TFloat32> activations, String config) {
    return SendTPUEmbeddingGradients.create(tf.scope(), List.of(activations), List.of(), config);
  }

  /** Returns the length of the String as UTF-8, as which it reaches TensorFlow. */
  private static int sentBytes(String config) {
    return config.getBytes(StandardCharsets.UTF_8).length;
  }

  @Test
  void utf8CannotHoldTheConfig() {
    assertTrue(sentBytes(LATIN_1) > CONFIG.length);
    assertTrue(UTF_8.indexOf('\ufffd') >= 0);
  }

  @Test
  void latin1ServesConfigureLoadAndSendInGraphs() {
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      load(tf, session, LATIN_1);
      Ops afterEnqueue = tf.withControlDependencies(List.of(enqueue(tf)));
      Output<TFloat32> activations = Tpuless.receive(afterEnqueue.scope(), 1, CONFIG).get(0);

      session.run(send(tf, activations, LATIN_1));
    }
  }

  @Test
  void latin1ServesAllOpsInEagerMode() {
    try (EagerSession session = EagerSession.create()) {
      Ops tf = Ops.create(session);
      ConfigureTPUEmbedding.create(tf.scope(), LATIN_1);
      Training.Table table = TRAINING.tables.get(0);
      table.optimizer.load(tf.scope(), table.name, List.of(tf.constant(table.loaded.get(0))));
      enqueue(tf);

      var activations = RecvTPUEmbeddingActivations.create(tf.scope(), 1L, LATIN_1).outputs();

      send(tf, activations.get(0), LATIN_1);
    }
  }

  @Test
  void recvInGraphsRefusesLatin1() {
    try (Graph graph = new Graph()) {
      Ops tf = Ops.create(graph);

      var error =
          assertThrows(
              TFInvalidArgumentException.class,
              () -> RecvTPUEmbeddingActivations.create(tf.scope(), 1L, LATIN_1));

      // The rest is the node, as TensorFlow prints it.
      String message = "Malformed tpu_embedding_config. for '{{node RecvTPUEmbeddingActivations}}";
      assertTrue(error.getMessage().startsWith(message), error.getMessage());
    }
  }

  @Test
  void utf8IsRefused() {
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      Op configure = ConfigureTPUEmbedding.create(tf.scope(), UTF_8);

      var error = assertThrows(TFInvalidArgumentException.class, () -> session.run(configure));

      assertEquals(
          "Malformed tpu_embedding_config: it must be a serialized TPUEmbeddingConfiguration, got "
              + sentBytes(UTF_8)
              + " bytes that do not parse as one\n\t [[{{node ConfigureTPUEmbedding}}]]",
          error.getMessage());
    }
  }
}
