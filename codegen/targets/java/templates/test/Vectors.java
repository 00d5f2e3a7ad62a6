package ggufspec;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** Where the specification's vectors are. */
final class Vectors {
  private Vectors() {}

  /** The folder; the test is skipped where there is none. */
  static Path folder() {
    String told = System.getenv("GGUFSPEC_VECTORS");
    Path folder = Path.of(told == null ? "../../spec/conformance" : told);
    Assumptions.assumeTrue(Files.isDirectory(folder), "no vectors at " + folder
        + "; say where they are in GGUFSPEC_VECTORS");
    return folder;
  }

  static List<Path> blocks() throws IOException {
    try (Stream<Path> files = Files.list(folder().resolve("blocks"))) {
      return files.filter(file -> file.toString().endsWith(".txt")).sorted().toList();
    }
  }
}
