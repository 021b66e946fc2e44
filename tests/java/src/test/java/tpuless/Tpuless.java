// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.tensorflow.EagerSession;
import org.tensorflow.Operation;
import org.tensorflow.Output;
import org.tensorflow.TensorFlow;
import org.tensorflow.op.Scope;
import org.tensorflow.op.tpu.RecvTPUEmbeddingActivations;
import org.tensorflow.op.tpu.ShutdownDistributedTPU;
import org.tensorflow.types.TFloat32;

/** Loads the kernel library for a class of tests, and drops the engine before each of them. */
final class Tpuless implements BeforeAllCallback, BeforeEachCallback {
  /** Returns the path of the kernel library. */
  static String libraryPath() {
    String path = System.getProperty("tpuless.library");
    if (path == null) {
      throw new IllegalStateException("-Dtpuless.library= must name libtpuless_ops.so");
    }
    return path;
  }

  /** Returns a String that reaches the kernels as {@code config}, by way of UTF-8. */
  static String asString(byte[] config) {
    return new String(config, StandardCharsets.ISO_8859_1);
  }

  /** Builds the op of {@code RecvTPUEmbeddingActivations.create} with a configuration of bytes. */
  static List<Output<TFloat32>> receive(Scope scope, long numOutputs, byte[] config) {
    Operation operation =
        scope
            .opBuilder(RecvTPUEmbeddingActivations.OP_NAME, "RecvTPUEmbeddingActivations")
            .setAttr("num_outputs", numOutputs)
            .setAttr("config", config)
            .build();
    return new RecvTPUEmbeddingActivations(operation).outputs();
  }

  /** Returns the numbers of a tensor, row by row. */
  static float[] values(TFloat32 tensor) {
    float[] values = new float[Math.toIntExact(tensor.size())];
    tensor.asRawTensor().data().asFloats().read(values);
    return values;
  }

  /** Returns the numbers of a matrix, row by row. */
  static float[] values(float[][] matrix) {
    float[] values = new float[matrix.length * matrix[0].length];
    for (int row = 0; row < matrix.length; row++) {
      System.arraycopy(matrix[row], 0, values, row * matrix[0].length, matrix[0].length);
    }
    return values;
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    TensorFlow.loadLibrary(libraryPath());
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    try (EagerSession session = EagerSession.create()) {
      ShutdownDistributedTPU.create(session.baseScope());
    }
  }
}
