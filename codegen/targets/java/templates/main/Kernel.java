package ggufspec;

import java.util.List;

/** What is generated for one type. Blocks are little-endian and stand at {@code at}. */
abstract class Kernel {
  private static final int[][] NONE = {};

  /** {@code prefix} and {@code suffix} are those of the row and the tensor. */
  abstract void dequantize(byte[] source, int at, int blocks, float[] target, int to, byte[] prefix,
      int prefixAt, byte[] suffix, int suffixAt);

  /** The codes of a block, empty for plain numbers. */
  List<Codes.Array> arrays() {
    return List.of();
  }

  void unpack(byte[] source, int at, int[][] arrays, int block) {}

  void pack(int[][] arrays, int block, byte[] target, int at) {}

  /** Runs of words of more than a byte in a block: offset, stride, count, size. */
  int[][] words() {
    return NONE;
  }

  int[][] prefixWords() {
    return NONE;
  }

  int[][] suffixWords() {
    return NONE;
  }

  int bytes() {
    return 0;
  }

  /** Blocks in the other byte order. */
  final void swap(byte[] blocks, int at, int count) {
    int[][] words = words();
    for (int i = 0; words.length > 0 && i < count; i++) {
      swap(blocks, at + i * bytes(), words);
    }
  }

  final void swapPrefix(byte[] prefix, int at) {
    swap(prefix, at, prefixWords());
  }

  final void swapSuffix(byte[] suffix, int at) {
    swap(suffix, at, suffixWords());
  }

  private static void swap(byte[] bytes, int at, int[][] words) {
    for (int[] run : words) {
      for (int i = 0; i < run[2]; i++) {
        int first = at + run[0] + i * run[1];
        int last = first + run[3] - 1;
        for (; first < last; first++, last--) {
          byte kept = bytes[first];
          bytes[first] = bytes[last];
          bytes[last] = kept;
        }
      }
    }
  }
}
