// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.reflect.TypeToken;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tensorflow.DeviceSpec;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.Scope;
import org.tensorflow.op.core.NoOp;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.tpu.SendTPUEmbeddingGradients;
import org.tensorflow.types.TFloat32;

/** Builds the graphs of graphs.json and writes them for test_graphs.py, which compares them. */
final class GraphsTest {
  private static final Map<String, List<Send>> GRAPHS = read();

  /** A call of SendTPUEmbeddingGradients.create, and the scope that it gets. */
  static final class Send {
    List<List<JsonElement>> scope = List.of(); // Each a method of Scope, and its argument.
    List<String> inputs = List.of("g0");
    List<String> learningRates = List.of();
    String config = "\n\u0002\u00ff\u0080";
    Long nn; // Option NN, if any.
    int times = 1; // How often the call is made with the same scope.
    String error; // How the message starts if the call fails.
  }

  static Set<String> names() {
    return GRAPHS.keySet();
  }

  @ParameterizedTest
  @MethodSource("names")
  void graphIsWritten(String name) throws IOException {
    try (Graph graph = new Graph()) {
      Ops tf = Ops.create(graph);
      for (String input : List.of("g0", "g1", "g2")) {
        tf.withName(input).placeholder(TFloat32.class, Placeholder.shape(Shape.of(2, 3)));
      }
      for (String rate : List.of("r0", "r1")) {
        tf.withName(rate).placeholder(TFloat32.class, Placeholder.shape(Shape.scalar()));
      }
      tf.withName("y").noOp();
      tf.withName("z").noOp();

      for (Send send : GRAPHS.get(name)) {
        Scope scope = scope(graph, send.scope);
        for (int i = 0; i < send.times; i++) {
          create(graph, scope, send);
        }
      }

      Path folder = Path.of(System.getProperty("tpuless.graphs"));
      Files.createDirectories(folder);
      Files.write(folder.resolve(name + ".pb"), graph.toGraphDef().toByteArray());
    }
  }

  private static void create(Graph graph, Scope scope, Send send) {
    List<Operand<TFloat32>> inputs = operands(graph, send.inputs);
    List<Operand<TFloat32>> learningRates = operands(graph, send.learningRates);
    SendTPUEmbeddingGradients.Options[] options =
        send.nn == null
            ? new SendTPUEmbeddingGradients.Options[0]
            : new SendTPUEmbeddingGradients.Options[] {SendTPUEmbeddingGradients.NN(send.nn)};
    if (send.error == null) {
      SendTPUEmbeddingGradients.create(scope, inputs, learningRates, send.config, options);
      return;
    }
    var error =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                SendTPUEmbeddingGradients.create(
                    scope, inputs, learningRates, send.config, options));
    assertTrue(error.getMessage().startsWith(send.error), error.getMessage());
  }

  private static List<Operand<TFloat32>> operands(Graph graph, List<String> names) {
    List<Operand<TFloat32>> operands = new ArrayList<>();
    for (String name : names) {
      operands.add(new Placeholder<TFloat32>(graph.operationOrThrow(name)));
    }
    return operands;
  }

  private static Scope scope(Graph graph, List<List<JsonElement>> calls) {
    Scope scope = graph.baseScope();
    for (List<JsonElement> call : calls) {
      JsonElement argument = call.get(1);
      switch (call.get(0).getAsString()) {
        case "withSubScope":
          scope = scope.withSubScope(argument.getAsString());
          break;
        case "withName":
          scope = scope.withName(argument.getAsString());
          break;
        case "withNameAsSubScope":
          scope = scope.withNameAsSubScope(argument.getAsString());
          break;
        case "withDevice":
          scope = scope.withDevice(device(argument.getAsJsonObject()));
          break;
        case "withControlDependencies":
          List<Op> controls = new ArrayList<>();
          for (JsonElement name : argument.getAsJsonArray()) {
            controls.add(new NoOp(graph.operationOrThrow(name.getAsString())));
          }
          scope = scope.withControlDependencies(controls);
          break;
        default:
          throw new IllegalArgumentException("unknown method " + call.get(0));
      }
    }
    return scope;
  }

  private static DeviceSpec device(JsonObject parts) {
    DeviceSpec.Builder builder = DeviceSpec.newBuilder();
    if (parts.has("job")) {
      builder.job(parts.get("job").getAsString());
    }
    if (parts.has("replica")) {
      builder.replica(parts.get("replica").getAsInt());
    }
    if (parts.has("task")) {
      builder.task(parts.get("task").getAsInt());
    }
    if (parts.has("type")) {
      builder.deviceType(DeviceSpec.DeviceType.valueOf(parts.get("type").getAsString()));
    }
    if (parts.has("index")) {
      builder.deviceIndex(parts.get("index").getAsInt());
    }
    return builder.build();
  }

  private static Map<String, List<Send>> read() {
    try (Reader reader =
        new InputStreamReader(
            GraphsTest.class.getResourceAsStream("/graphs.json"), StandardCharsets.UTF_8)) {
      return new Gson().fromJson(reader, new TypeToken<Map<String, List<Send>>>() {}.getType());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
