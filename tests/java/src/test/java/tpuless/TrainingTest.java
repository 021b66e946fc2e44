// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tensorflow.EagerSession;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.Tensor;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.StdArrays;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.tpu.ConfigureTPUEmbedding;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.family.TType;

/** Trains with TF Java's own classes and gets the bits that Python gets. */
@ExtendWith(Tpuless.class)
final class TrainingTest {
  private static final Map<String, Training> TRAININGS = Training.read();

  static Set<String> names() {
    return TRAININGS.keySet();
  }

  /**
   * Leaves out what eager mode cannot say: with several tables TensorFlow takes the type of one
   * list for that of another, and TF Java 1.1.0 crashes at combiners, a list of strings.
   */
  static Stream<String> namesOfOneTable() {
    return names().stream().filter(name -> TRAININGS.get(name).tables.size() == 1);
  }

  @ParameterizedTest
  @MethodSource("names")
  void graphGivesTheBitsOfPython(String name) {
    Training training = TRAININGS.get(name);
    try (Graph graph = new Graph();
        Session session = new Session(graph)) {
      Ops tf = Ops.create(graph);
      session.run(
          ConfigureTPUEmbedding.create(tf.scope(), Tpuless.asString(training.configBytes())));
      for (Training.Table table : training.tables) {
        session.run(table.optimizer.load(tf.scope(), table.name, constants(tf, table.loaded)));
      }
      TrainingStep.Batch placeholders = placeholders(tf, training);
      TrainingStep step = new TrainingStep(tf, training, placeholders);

      for (Training.Step expected : training.steps) {
        Session.Runner runner = session.runner().addTarget(step.send);
        List<Tensor> fed = feed(runner, placeholders, expected);
        step.activations.forEach(runner::fetch);
        try (Result result = runner.run()) {
          assertBits(expected.activations, result);
        }
        fed.forEach(Tensor::close);
      }

      for (Training.Table table : training.tables) {
        Session.Runner runner = session.runner();
        table.optimizer.retrieve(tf.scope(), table.name).forEach(runner::fetch);
        try (Result result = runner.run()) {
          assertBits(table.retrieved, result);
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("namesOfOneTable")
  void eagerSessionGivesTheBitsOfPython(String name) {
    Training training = TRAININGS.get(name);
    try (EagerSession session = EagerSession.create()) {
      Ops tf = Ops.create(session);
      ConfigureTPUEmbedding.create(tf.scope(), Tpuless.asString(training.configBytes()));
      for (Training.Table table : training.tables) {
        table.optimizer.load(tf.scope(), table.name, constants(tf, table.loaded));
      }

      for (Training.Step expected : training.steps) {
        TrainingStep step = new TrainingStep(tf, training, constants(tf, expected));
        assertBits(expected.activations, step.activations);
      }

      for (Training.Table table : training.tables) {
        assertBits(table.retrieved, table.optimizer.retrieve(tf.scope(), table.name));
      }
    }
  }

  private static List<Operand<TFloat32>> constants(Ops tf, List<float[][]> matrices) {
    return matrices.stream().map(tf::constant).collect(Collectors.toList());
  }

  private static TrainingStep.Batch constants(Ops tf, Training.Step step) {
    TrainingStep.Batch batch = new TrainingStep.Batch();
    step.sampleSplits.forEach(splits -> batch.sampleSplits.add(tf.constant(splits)));
    step.embeddingIndices.forEach(ids -> batch.embeddingIndices.add(tf.constant(ids)));
    step.aggregationWeights.forEach(one -> batch.aggregationWeights.add(tf.constant(one)));
    step.targets.forEach(target -> batch.targets.add(tf.constant(target)));
    step.learningRates.forEach(rate -> batch.learningRates.add(tf.constant(rate)));
    return batch;
  }

  private static TrainingStep.Batch placeholders(Ops tf, Training training) {
    TrainingStep.Batch batch = new TrainingStep.Batch();
    Training.Step step = training.steps.get(0);
    Shape vector = Shape.of(Shape.UNKNOWN_SIZE);
    for (float[][] target : step.targets) {
      batch.sampleSplits.add(placeholder(tf, TInt32.class, vector));
      batch.embeddingIndices.add(placeholder(tf, TInt32.class, vector));
      batch.aggregationWeights.add(placeholder(tf, TFloat32.class, vector));
      batch.targets.add(placeholder(tf, TFloat32.class, StdArrays.shapeOf(target)));
    }
    step.learningRates.forEach(
        rate -> batch.learningRates.add(placeholder(tf, TFloat32.class, Shape.scalar())));
    return batch;
  }

  private static <T extends TType> Operand<T> placeholder(Ops tf, Class<T> type, Shape shape) {
    return tf.placeholder(type, Placeholder.shape(shape));
  }

  /** Feeds a step and returns the tensors, which the caller closes. */
  private static List<Tensor> feed(
      Session.Runner runner, TrainingStep.Batch placeholders, Training.Step step) {
    List<Operand<?>> operands = new ArrayList<>();
    operands.addAll(placeholders.sampleSplits);
    operands.addAll(placeholders.embeddingIndices);
    operands.addAll(placeholders.aggregationWeights);
    operands.addAll(placeholders.targets);
    operands.addAll(placeholders.learningRates);
    List<Tensor> tensors = new ArrayList<>();
    step.sampleSplits.forEach(splits -> tensors.add(TInt32.vectorOf(splits)));
    step.embeddingIndices.forEach(ids -> tensors.add(TInt32.vectorOf(ids)));
    step.aggregationWeights.forEach(one -> tensors.add(TFloat32.vectorOf(one)));
    step.targets.forEach(target -> tensors.add(TFloat32.tensorOf(StdArrays.ndCopyOf(target))));
    step.learningRates.forEach(rate -> tensors.add(TFloat32.scalarOf(rate)));
    for (int i = 0; i < tensors.size(); i++) {
      runner.feed(operands.get(i), tensors.get(i));
    }
    return tensors;
  }

  private static void assertBits(List<float[][]> expected, Result actual) {
    for (int i = 0; i < expected.size(); i++) {
      assertBits(expected.get(i), (TFloat32) actual.get(i));
    }
  }

  private static void assertBits(
      List<float[][]> expected, List<? extends Operand<TFloat32>> actual) {
    for (int i = 0; i < expected.size(); i++) {
      assertBits(expected.get(i), actual.get(i).asTensor());
    }
  }

  private static void assertBits(float[][] expected, TFloat32 actual) {
    assertArrayEquals(Tpuless.values(expected), Tpuless.values(actual));
  }
}
