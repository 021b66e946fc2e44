// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
package tpuless;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.tensorflow.TensorFlow;
import org.tensorflow.proto.OpDef;

/** What TensorFlow.loadLibrary does with the kernel library and with what is none. */
@ExtendWith(Tpuless.class)
final class LoadLibraryTest {
  @TempDir Path folder;

  private static String refusal(String path) {
    return assertThrows(UnsatisfiedLinkError.class, () -> TensorFlow.loadLibrary(path))
        .getMessage();
  }

  @Test
  void loadingTwiceIsHarmless() {
    var first = TensorFlow.loadLibrary(Tpuless.libraryPath());
    var second = TensorFlow.loadLibrary(Tpuless.libraryPath());

    // TensorFlow itself has the ops of the family.
    assertEquals(
        List.of("TpulessStatistics", "TpulessSetOptions", "TpulessReset", "TpulessAbandonStep"),
        first.getOpList().stream().map(OpDef::getName).collect(Collectors.toList()));
    assertEquals(first, second);
  }

  @Test
  void missingFileIsRefused() {
    String path = folder.resolve("missing.so").toString();

    assertEquals(
        path + ": cannot open shared object file: No such file or directory", refusal(path));
  }

  @Test
  void fileThatIsNoLibraryIsRefused() throws IOException {
    Path path = Files.writeString(folder.resolve("text.so"), "no library".repeat(100));

    assertEquals(path + ": invalid ELF header", refusal(path.toString()));
  }

  @Test
  void secondCopyIsRefused() throws IOException {
    Path copy = Files.copy(Path.of(Tpuless.libraryPath()), folder.resolve("copy.so"));

    assertEquals(
        "tpuless is loaded already, from "
            + Path.of(Tpuless.libraryPath()).toRealPath()
            + "; "
            + copy.toRealPath()
            + " is a second copy and registers nothing",
        refusal(copy.toString()));
  }

  @Test
  @EnabledIfSystemProperty(
      named = "tpuless.foreign.library",
      matches = ".+",
      disabledReason = "needs a library that was built for another TensorFlow")
  void libraryForAnotherTensorFlowIsRefused() {
    String path = System.getProperty("tpuless.foreign.library");

    String message = refusal(path);

    assertTrue(message.startsWith(path + ": undefined symbol: "), message);
  }
}
