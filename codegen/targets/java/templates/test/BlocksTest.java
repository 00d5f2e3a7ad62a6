package ggufspec;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Elements, codes and packed bytes of every type are those of the vectors, bit by bit. */
class BlocksTest {
  private record Block(Map<String, String> lines, Map<String, int[]> codes) {
    byte[] bytes(String name) {
      return HexFormat.of().parseHex(lines.getOrDefault(name, ""));
    }
  }

  @Test
  void everyVector() throws IOException {
    int count = 0;
    for (Path file : Vectors.blocks()) {
      for (Block block : read(file)) {
        check(block, file.getFileName() + " " + count);
        count++;
      }
    }
    assertFalse(count == 0);
  }

  private static void check(Block block, String where) {
    TensorType type = Types.byName(block.lines.get("type")).orElseThrow();
    byte[] prefix = block.bytes("prefix");
    byte[] blocks = block.bytes("block");
    byte[] row = Arrays.copyOf(prefix, prefix.length + blocks.length);
    System.arraycopy(blocks, 0, row, prefix.length, blocks.length);
    float[] values = Dequantizer.of(type).dequantize(row, block.bytes("suffix"));
    String[] expected = block.lines.get("x").split(" ");
    assertEquals(expected.length, values.length, where);
    for (int i = 0; i < values.length; i++) {
      String bits = String.format("%08x", Float.floatToRawIntBits(values[i]));
      assertEquals(expected[i], Float.isNaN(values[i]) ? "nan" : bits, where + " element " + i);
    }
    if (!block.codes.isEmpty()) {
      Codes codes = type.unpack(blocks);
      assertEquals(new ArrayList<>(block.codes.keySet()), new ArrayList<>(codes.keySet()), where);
      block.codes.forEach((name, numbers) -> assertArrayEquals(numbers, codes.get(name), where));
      assertArrayEquals(block.bytes("pack"), type.pack(codes), where);
    }
  }

  private static List<Block> read(Path file) throws IOException {
    List<Block> found = new ArrayList<>();
    Block block = new Block(new LinkedHashMap<>(), new LinkedHashMap<>());
    for (String line : Files.readString(file).concat("\n").split("\n", -1)) {
      if (line.isEmpty() && !block.lines.isEmpty()) {
        found.add(block);
        block = new Block(new LinkedHashMap<>(), new LinkedHashMap<>());
      } else if (line.startsWith("code ")) {
        String[] words = line.split(" ");
        int[] numbers = Arrays.stream(words).skip(2).mapToLong(Long::parseLong)
            .mapToInt(number -> (int) number).toArray();
        block.codes.put(words[1], numbers);
      } else if (!line.isEmpty() && !line.startsWith("#")) {
        String[] pair = line.split(" ", 2);
        block.lines.put(pair[0], pair[1]);
      }
    }
    return found;
  }
}
