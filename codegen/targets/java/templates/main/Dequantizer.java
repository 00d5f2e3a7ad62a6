package ggufspec;

/**
 * Rows of a type to float32, outside of any file.
 *
 * <p>Every operation on floats is rounded once, to float32, and none are fused: Java 17 says so for
 * every machine (JEP 306), so the results are the same bits everywhere.
 */
public final class Dequantizer {
  private static final byte[] NONE = {};

  private final TensorType type;

  private Dequantizer(TensorType type) {
    this.type = type;
  }

  /** IllegalArgumentException for a removed type, which has no layout. */
  public static Dequantizer of(TensorType type) {
    if (type.kernel() == null) {
      throw new IllegalArgumentException(type.name() + " has no layout");
    }
    return new Dequantizer(type);
  }

  /** One little-endian row: its prefix if the type has one, then whole blocks. */
  public float[] dequantize(byte[] row) {
    return dequantize(row, NONE);
  }

  /** The same for a type with bytes stored once a tensor. */
  public float[] dequantize(byte[] row, byte[] suffix) {
    int blocks = (row.length - type.rowPrefix()) / type.bytes();
    float[] values = new float[Math.multiplyExact(blocks, type.elements())];
    dequantize(row, 0, row.length, suffix, values, 0);
    return values;
  }

  /** A row of {@code count} bytes at {@code from}, to {@code values} at {@code at}. */
  public void dequantize(byte[] rows, int from, int count, byte[] suffix, float[] values, int at) {
    java.util.Objects.checkFromIndexSize(from, count, rows.length);
    int inner = count - type.rowPrefix();
    if (inner < 0 || inner % type.bytes() != 0 || suffix.length != type.tensorSuffix()) {
      throw new IllegalArgumentException("no row of " + type.name() + ": " + count + " bytes"
          + (type.tensorSuffix() == 0 ? "" : ", " + suffix.length + " a tensor"));
    }
    int blocks = inner / type.bytes();
    java.util.Objects.checkFromIndexSize(at, blocks * (long) type.elements(), (long) values.length);
    type.kernel().dequantize(
        rows, from + type.rowPrefix(), blocks, values, at, rows, from, suffix, 0);
  }
}
