// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.tensorflow.Graph;
import org.tensorflow.Operation;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.TensorFlow;
import org.tensorflow.ndarray.StdArrays;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.Scope;
import org.tensorflow.op.tpu.ConfigureTPUEmbedding;
import org.tensorflow.op.tpu.EnqueueTPUEmbeddingIntegerBatch;
import org.tensorflow.op.tpu.LoadTPUEmbeddingAdagradParameters;
import org.tensorflow.op.tpu.RecvTPUEmbeddingActivations;
import org.tensorflow.op.tpu.RetrieveTPUEmbeddingAdagradParameters;
import org.tensorflow.op.tpu.SendTPUEmbeddingGradients;
import org.tensorflow.types.TFloat32;

/** The example of docs/java_tensorflow.md, which is README.md's in Java. */
@ExtendWith(Tpuless.class)
final class ExampleTest {
  /** Trains one step and returns the table. */
  static float[][] trainOneStep(String libraryPath) {
    TensorFlow.loadLibrary(libraryPath);
    // SerializeToString() of README.md's configuration.
    byte[] config = Base64.getDecoder().decode("ChgKBW1vdmllEAMYAiABKgkaAGoFDc3MzD0QAhgC");
    String configString = new String(config, StandardCharsets.ISO_8859_1);

    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      Scope scope = tf.scope();
      session.run(ConfigureTPUEmbedding.create(scope, configString));
      session.run(
          LoadTPUEmbeddingAdagradParameters.create(
              scope,
              tf.constant(new float[][] {{1, 2}, {3, 4}, {5, 6}}),
              tf.fill(tf.array(3, 2), tf.constant(0.1f)),
              1L,
              0L,
              LoadTPUEmbeddingAdagradParameters.tableName("movie")));

      Op enqueue =
          EnqueueTPUEmbeddingIntegerBatch.create(
              scope, List.of(tf.array(2, 0)), tf.constant("train"));
      // Not RecvTPUEmbeddingActivations.create(), which takes no bytes.
      Operation receive =
          scope
              .withControlDependencies(List.of(enqueue))
              .opBuilder(RecvTPUEmbeddingActivations.OP_NAME, "Recv")
              .setAttr("num_outputs", 1)
              .setAttr("config", config)
              .build();
      var activations = new RecvTPUEmbeddingActivations(receive).outputs().get(0);
      var gradients = tf.onesLike(activations);
      session.run(
          SendTPUEmbeddingGradients.create(scope, List.of(gradients), List.of(), configString));

      var table =
          RetrieveTPUEmbeddingAdagradParameters.create(
              scope, 1L, 0L, RetrieveTPUEmbeddingAdagradParameters.tableName("movie"));
      try (Result result = session.runner().fetch(table.parameters()).run()) {
        return StdArrays.array2dCopyOf((TFloat32) result.get(0));
      }
    }
  }

  @Test
  void exampleGivesTheWeightsOfReadme() {
    float[][] weights = trainOneStep(Tpuless.libraryPath());

    assertArrayEquals(
        new float[][] {{0.9046537f, 1.9046538f}, {3, 4}, {4.9046535f, 5.9046535f}}, weights);
  }
}
