// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import com.google.gson.Gson;
import com.google.gson.reflect.TypeToken;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** What make_expected.py trained in Python: the same inputs must give the same bits here. */
final class Training {
  String config; // Serialized, in base64.
  List<String> combiners; // One a table, or none.
  List<Table> tables;
  List<Step> steps;

  /** A table before and after all steps: weights, then slot variables. */
  static final class Table {
    String name;
    Optimizer optimizer;
    List<float[][]> loaded;
    List<float[][]> retrieved;
  }

  /** A step; its lists have one entry a table. */
  static final class Step {
    List<int[]> sampleSplits;
    List<int[]> embeddingIndices;
    List<float[]> aggregationWeights;
    List<float[][]> targets; // What the gradients pull the activations to.
    List<Float> learningRates; // None if they are constant.
    List<float[][]> activations;
  }

  byte[] configBytes() {
    return Base64.getDecoder().decode(config);
  }

  /** Returns training.json by the name of the case. */
  static Map<String, Training> read() {
    try (Reader reader =
        new InputStreamReader(
            Training.class.getResourceAsStream("/training.json"), StandardCharsets.UTF_8)) {
      return new Gson().fromJson(reader, new TypeToken<Map<String, Training>>() {}.getType());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
