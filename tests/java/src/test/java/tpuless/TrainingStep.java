// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.tpu.EnqueueTPUEmbeddingRaggedTensorBatch;
import org.tensorflow.op.tpu.SendTPUEmbeddingGradients;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.family.TNumber;

/** A step of training, written once: nodes of a graph, or calls in eager mode. */
final class TrainingStep {
  /** Where a step reads from; the lists have one operand a table. */
  static final class Batch {
    final List<Operand<TInt32>> sampleSplits = new ArrayList<>();
    final List<Operand<TInt32>> embeddingIndices = new ArrayList<>();
    final List<Operand<TFloat32>> aggregationWeights = new ArrayList<>();
    final List<Operand<TFloat32>> targets = new ArrayList<>();
    final List<Operand<TFloat32>> learningRates = new ArrayList<>();
  }

  final List<Output<TFloat32>> activations;
  final Op send;

  TrainingStep(Ops tf, Training training, Batch batch) {
    Op enqueue =
        EnqueueTPUEmbeddingRaggedTensorBatch.create(
            tf.scope(),
            numbers(batch.sampleSplits),
            numbers(batch.embeddingIndices),
            numbers(batch.aggregationWeights),
            tf.constant("unspecified"),
            LongStream.range(0, training.tables.size()).boxed().collect(Collectors.toList()),
            options(training));
    activations =
        Tpuless.receive(
            tf.scope().withControlDependencies(List.of(enqueue)),
            training.tables.size(),
            training.configBytes());
    List<Operand<TFloat32>> gradients = new ArrayList<>();
    for (int i = 0; i < activations.size(); i++) {
      gradients.add(tf.math.sub(activations.get(i), batch.targets.get(i)));
    }
    send =
        SendTPUEmbeddingGradients.create(
            tf.scope(), gradients, batch.learningRates, Tpuless.asString(training.configBytes()));
  }

  private static EnqueueTPUEmbeddingRaggedTensorBatch.Options[] options(Training training) {
    if (training.combiners.isEmpty()) {
      return new EnqueueTPUEmbeddingRaggedTensorBatch.Options[0];
    }
    String[] combiners = training.combiners.toArray(new String[0]);
    return new EnqueueTPUEmbeddingRaggedTensorBatch.Options[] {
      EnqueueTPUEmbeddingRaggedTensorBatch.combiners(combiners)
    };
  }

  private static List<Operand<? extends TNumber>> numbers(
      List<? extends Operand<? extends TNumber>> operands) {
    return new ArrayList<>(operands);
  }
}
