package ggufspec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ApiTest {
  @TempDir
  Path folder;

  static Writer example() {
    return new Writer()
        .put("general.architecture", Value.of("llama"))
        .put("general.alignment", Value.of(ValueType.UINT32, 64))
        .put("a.int", Value.of(ValueType.INT64, -5))
        .put("a.big", Value.of(ValueType.UINT64, new java.math.BigInteger("18446744073709551615")))
        .put("a.float", Value.of(0.5f))
        .put("a.double", Value.of(Math.PI))
        .put("a.bool", Value.of(true))
        .put("a.texts", Value.array(List.of("one", "zw\u00f6lf", "")))
        .put("a.ints", Value.array(ValueType.INT16, -1, 0, 32767))
        .put("a.floats", Value.array(1.5f, -0f))
        .put("a.nested", Value.array(ValueType.ARRAY, List.of(
            Value.array(List.of("x")), Value.array(ValueType.UINT8, 255))))
        .tensor("plain", new float[] {1, 2, 3, 4, 5, 6}, 2, 3)
        .tensor("blocks", Types.byName("Q8_0").orElseThrow(), new byte[68], 2, 32);
  }

  @Test
  void valuesComeBackInEveryForm() throws IOException {
    for (int version = 1; version <= 3; version++) {
      for (ByteOrder order : List.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)) {
        Writer writer = example().version(version).byteOrder(order);
        if (version == 1) {
          assertThrows(IllegalArgumentException.class, writer::toByteArray);
          writer.remove("a.int").remove("a.big").remove("a.double");
        }
        byte[] bytes = writer.toByteArray();
        try (Gguf file = Gguf.parse(bytes)) {
          assertEquals(version, file.version());
          assertEquals(order, file.byteOrder());
          check(file);
          assertArrayEquals(bytes, Writer.copyOf(file).toByteArray());
        }
      }
    }
  }

  private static void check(Gguf file) {
    Metadata metadata = file.metadata();
    assertEquals(64, file.alignment());
    assertEquals(0, file.dataOffset() % 64);
    assertEquals("llama", metadata.getString("general.architecture"));
    assertTrue(metadata.getBoolean("a.bool"));
    assertEquals(0.5f, metadata.getFloat("a.float"));
    assertEquals(List.of("one", "zw\u00f6lf", ""), metadata.getStrings("a.texts"));
    assertEquals("zw\u00f6lf", metadata.getStrings("a.texts").get(1));
    assertArrayEquals(new int[] {-1, 0, 32767}, metadata.getArray("a.ints").toInts());
    assertArrayEquals(new float[] {1.5f, -0f}, metadata.getArray("a.floats").toFloats());
    assertEquals(-1, metadata.getArray("a.ints").buffer().asShortBuffer().get(0));
    List<ArrayValue> nested = metadata.getArray("a.nested").arrays();
    assertEquals(List.of("x"), nested.get(0).strings());
    assertEquals(255, nested.get(1).getLong(0));
    assertThrows(NoSuchElementException.class, () -> metadata.getLong("none"));
    assertThrows(GgufException.class, () -> metadata.getLong("a.bool"));
    assertEquals(7, metadata.getInt("none", 7));
    if (metadata.containsKey("a.int")) {
      assertEquals(-5, metadata.getLong("a.int"));
      assertEquals("18446744073709551615", metadata.get("a.big").toString());
      assertEquals(Math.PI, metadata.getDouble("a.double"));
    }
    assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, file.tensor("plain").dequantize());
    assertArrayEquals(new long[] {2, 3}, file.tensor("plain").shape());
    float[] row = new float[4];
    file.tensor("plain").dequantizeRows(1, 1, row, 1);
    assertArrayEquals(new float[] {0, 4, 5, 6}, row);
    assertEquals(1f, file.tensor("plain").data().getFloat(0));
    assertArrayEquals(new float[64], file.tensor("blocks").dequantize());
  }

  @Test
  void writesAndMapsFiles() throws IOException {
    Path path = folder.resolve("made.gguf");
    example().write(path);
    assertArrayEquals(example().toByteArray(), Files.readAllBytes(path));
    Gguf file = Gguf.open(path, Profile.STRICT);
    check(file);
    file.close();
    assertThrows(IllegalStateException.class, () -> file.metadata().getString("general.architecture"));
    assertThrows(IllegalStateException.class, () -> file.tensor("plain").dequantize());
    assertThrows(IOException.class, () -> Gguf.open(folder));
    assertThrows(IOException.class, () -> Gguf.open(folder.resolve("none")));
  }

  /** ggml's reader does not ask whether the data is there: nothing is allocated for what is not. */
  @Test
  void dataThatIsMissing() throws IOException {
    TensorType type = Types.byName("Q1_0").orElseThrow();
    byte[] bytes = new Writer().tensor("t", type, new byte[18], 128).toByteArray();
    ByteBuffer header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    header.putLong(24 + 8 + 1 + 4, 1L << 30);
    try (Gguf file = Gguf.parse(bytes, Profile.GGML)) {
      Tensor tensor = file.tensor("t");
      GgufException problem = assertThrows(GgufException.class, tensor::dequantize);
      assertEquals("GG0602", problem.code());
      assertThrows(GgufException.class, tensor::data);
    }
    assertThrows(GgufException.class, () -> Gguf.parse(bytes));
  }

  /** A sparse file of 5 GiB: one tensor that no buffer can hold. */
  @Test
  void largerThanAnyBuffer() throws IOException {
    long size = 5L << 30;
    byte[] small = new Writer().tensor("t", Types.byName("I8").orElseThrow(), new byte[64], 2, 32).toByteArray();
    ByteBuffer header = ByteBuffer.wrap(small).order(ByteOrder.LITTLE_ENDIAN);
    header.putLong(24 + 8 + 1 + 4 + 8, size / 32);
    Path path = folder.resolve("large.gguf");
    long start = small.length - 64;
    try (RandomAccessFile out = new RandomAccessFile(path.toFile(), "rw")) {
      out.write(small);
      out.setLength(start + size);
      for (long at : new long[] {size - 1, (1L << 30) - start, (2L << 30) - 3, 3L << 30}) {
        out.seek(start + at);
        out.write(7);
      }
    }
    try (Gguf file = Gguf.open(path)) {
      Tensor tensor = file.tensor("t");
      assertEquals(size, tensor.nbytes());
      assertThrows(GgufException.class, tensor::data);
      assertThrows(GgufException.class, tensor::dequantize);
      assertEquals(7, tensor.data(size - 1, 1).get(0));
      assertEquals(7, tensor.data(3L << 30, 1).get(0));
      float[] rows = new float[64];
      tensor.dequantizeRows(size / 32 - 2, 2, rows, 0);
      assertEquals(7f, rows[63]);
      byte[] across = new byte[16];
      tensor.read((2L << 30) - 8, across, 0, 16);
      assertEquals(7, across[5]);
      ByteBuffer whole = tensor.data((1L << 30) - start - 5, Integer.MAX_VALUE);
      assertEquals(7, whole.get(5));
      assertThrows(IndexOutOfBoundsException.class, () -> tensor.data(size - 1, 2));
    }
  }

  @Test
  void typesAndMistakes() {
    assertEquals("Q4_K", Types.byId(12).orElseThrow().name());
    assertEquals(TensorType.Status.REMOVED, Types.byName("Q4_2").orElseThrow().status());
    assertFalse(Types.byId(99).isPresent());
    assertEquals(144, Types.byName("Q4_K").orElseThrow().rowBytes(256));
    assertThrows(IllegalArgumentException.class, () -> Types.byName("Q4_K").orElseThrow().rowBytes(255));
    assertThrows(IllegalArgumentException.class, () -> Value.of(ValueType.UINT8, 256));
    assertThrows(IllegalArgumentException.class, () -> new Writer().alignment(12));
    assertThrows(IllegalArgumentException.class, () -> new Writer().put("", Value.of(true)));
    GgufException problem = assertThrows(GgufException.class, () -> Gguf.parse(new byte[4]));
    assertEquals("GG0101", problem.code());
    assertEquals(0, problem.offset().orElseThrow());
  }

  @Test
  void namesThatAreNoUtf8() throws IOException {
    byte[] bytes = new Writer().put("a\udcff\udc80b", Value.of(new byte[] {-1})).toByteArray();
    try (Gguf file = Gguf.parse(bytes)) {
      assertEquals("a\udcff\udc80b", file.metadata().keySet().iterator().next());
      assertFalse(((Value.OfString) file.metadata().values().iterator().next()).isUtf8());
      assertArrayEquals(bytes, Writer.copyOf(file).toByteArray());
    }
  }

  /** The first example of README.md compiles and runs. */
  @Test
  void readme() throws Exception {
    Path readme = Path.of("README.md");
    org.junit.jupiter.api.Assumptions.assumeTrue(Files.exists(readme), "no README.md here");
    Matcher code = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(Files.readString(readme));
    assertTrue(code.find());
    Path source = folder.resolve("First.java");
    Files.writeString(source, code.group(1));
    String classes = Path.of(Gguf.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    run("javac", "-Xlint:all", "-Werror", "-cp", classes, "-d", folder.toString(), source.toString());
    Path made = folder.resolve("made.gguf");
    example().write(made);
    String both = classes + java.io.File.pathSeparator + folder;
    String said = run("java", "-cp", both, "First", made.toString());
    assertTrue(said.contains("plain starts with 1.0"), said);
  }

  private static String run(String tool, String... arguments) throws Exception {
    List<String> command = new java.util.ArrayList<>(List.of(arguments));
    command.add(0, Path.of(System.getProperty("java.home"), "bin", tool).toString());
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), said);
    return said;
  }
}
