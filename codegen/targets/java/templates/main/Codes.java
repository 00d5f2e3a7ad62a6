package ggufspec;

import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The codes of blocks by name, block after block: single fields first (of floats the stored bits),
 * then what is cut out of words. A number above an int's range is there as its bits.
 */
public final class Codes extends AbstractMap<String, int[]> {
  /** A field or code: so many numbers a block, in this range. */
  public record Array(String name, int count, long low, long high) {
    /** A number of the array as it is meant. */
    public long value(int stored) {
      return low < 0 ? stored : stored & 0xffffffffL;
    }
  }

  private final Map<String, int[]> arrays;

  private Codes(Map<String, int[]> arrays) {
    this.arrays = Collections.unmodifiableMap(arrays);
  }

  @Override
  public Set<Entry<String, int[]>> entrySet() {
    return arrays.entrySet();
  }

  @Override
  public int[] get(Object name) {
    return arrays.get(name);
  }

  static Codes unpack(TensorType type, byte[] blocks) {
    List<Array> arrays = known(type);
    if (blocks.length % type.bytes() != 0) {
      throw new IllegalArgumentException(blocks.length + " bytes are no whole blocks of " + type);
    }
    int count = blocks.length / type.bytes();
    Map<String, int[]> made = new LinkedHashMap<>();
    int[][] targets = new int[arrays.size()][];
    for (int i = 0; i < targets.length; i++) {
      targets[i] = new int[Math.multiplyExact(count, arrays.get(i).count())];
      made.put(arrays.get(i).name(), targets[i]);
    }
    for (int block = 0; block < count; block++) {
      type.kernel().unpack(blocks, block * type.bytes(), targets, block);
    }
    return new Codes(made);
  }

  static byte[] pack(TensorType type, Map<String, int[]> codes) {
    List<Array> arrays = known(type);
    List<int[]> sources = new ArrayList<>();
    int count = -1;
    for (Array array : arrays) {
      int[] numbers = codes.get(array.name());
      if (numbers == null || numbers.length % array.count() != 0
          || count >= 0 && numbers.length / array.count() != count) {
        throw new IllegalArgumentException(type + " needs " + array.count()
            + " numbers of " + array.name() + " a block");
      }
      count = numbers.length / array.count();
      check(type, array, numbers);
      sources.add(numbers);
    }
    if (codes.size() != arrays.size()) {
      throw new IllegalArgumentException(type + " has no codes but " + arrays);
    }
    byte[] blocks = new byte[Math.multiplyExact(Math.max(count, 0), type.bytes())];
    int[][] given = sources.toArray(int[][]::new);
    for (int block = 0; block < count; block++) {
      type.kernel().pack(given, block, blocks, block * type.bytes());
    }
    return blocks;
  }

  private static void check(TensorType type, Array array, int[] numbers) {
    for (int number : numbers) {
      long value = array.value(number);
      if (value < array.low() || value > array.high()) {
        throw new IllegalArgumentException(type + " " + array.name() + " is " + value
            + ", not from " + array.low() + " to " + array.high());
      }
    }
  }

  private static List<Array> known(TensorType type) {
    if (type.arrays().isEmpty()) {
      throw new IllegalArgumentException(type + " has no codes");
    }
    return type.arrays();
  }
}
