package ggufspec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What every profile says of every file of the vectors, and that nothing else comes of damage. */
class FilesTest {
  @Test
  void everyVerdict() throws IOException {
    Path folder = Vectors.folder();
    int count = 0;
    for (String line : Files.readAllLines(folder.resolve("files.txt"))) {
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      String[] fields = line.split("\t");
      Path file = folder.resolve("files").resolve(fields[0] + ".gguf");
      Profile profile = Profile.valueOf(fields[1].toUpperCase(Locale.ROOT));
      String expected = fields[2] + " " + fields[3];
      assertEquals(expected, verdict(Files.readAllBytes(file), profile), line);
      try (Gguf opened = Gguf.open(file, profile)) {
        assertEquals("ok -", expected, line);
        everything(opened);
      } catch (GgufException problem) {
        assertEquals(fields[2], problem.code(), line);
      }
      count++;
    }
    assertFalse(count == 0);
  }

  @Test
  void damageGivesNothingButTheException() {
    byte[] whole = ApiTest.example().toByteArray();
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      byte[] damaged = java.util.Arrays.copyOf(whole, i % 4 == 0 ? random.nextInt(whole.length) : whole.length);
      for (int k = random.nextInt(4); k >= 0 && damaged.length > 0; k--) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
      }
      Profile profile = Profile.values()[i % Profile.values().length];
      try (Gguf opened = Gguf.parse(damaged, profile)) {
        everything(opened);
      } catch (GgufException expected) {
        assertFalse(expected.getMessage().isEmpty());
      } catch (IOException impossible) {
        throw new AssertionError(impossible);
      }
    }
  }

  private static String verdict(byte[] bytes, Profile profile) {
    try {
      Gguf.parse(bytes, profile);
      return "ok -";
    } catch (GgufException problem) {
      long offset = problem.offset().orElse(-1);
      return problem.code() + " " + (offset < 0 ? "-" : offset);
    }
  }

  /** Asks for all that there is. */
  private static void everything(Gguf file) {
    for (Value value : file.metadata().values()) {
      value.toString();
      if (value instanceof ArrayValue array && array.size() > 0) {
        array.get(array.size() - 1).toString();
      }
    }
    for (Tensor tensor : file.tensors().values()) {
      tensor.toString();
      if (tensor.nbytes() < 1 << 20) {
        try {
          tensor.data();
          tensor.dequantize();
        } catch (GgufException expected) {
          assertFalse(expected.getMessage().isEmpty());
        }
      }
    }
  }
}
