package ggufspec;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** A type of tensors: {@link Types} has all of them. */
public final class TensorType {
  /** What became of a type. */
  public enum Status {
    /** Files hold it. */
    LIVE,
    /** ggml computes with it, files do not hold it. */
    INTERNAL,
    /** Its number is taken and means nothing any more; no elements, no bytes. */
    REMOVED,
    /** A fork's: no number of ggml's. */
    FORK
  }

  private final int id;
  private final String name;
  private final Status status;
  private final int elements;
  private final int bytes;
  private final int rowPrefix;
  private final int tensorSuffix;
  private final int number;
  private volatile Kernel kernel;

  TensorType(int number, int id, String name, Status status, int elements, int bytes,
      int rowPrefix, int tensorSuffix) {
    this.number = number;
    this.id = id;
    this.name = name;
    this.status = status;
    this.elements = elements;
    this.bytes = bytes;
    this.rowPrefix = rowPrefix;
    this.tensorSuffix = tensorSuffix;
  }

  /** ggml's number; empty for a fork's type. */
  public OptionalInt id() {
    return id < 0 ? OptionalInt.empty() : OptionalInt.of(id);
  }

  /** The name, as {@code Q4_K}. */
  public String name() {
    return name;
  }

  /** What became of it. */
  public Status status() {
    return status;
  }

  /** Elements of a block; 1 for plain numbers, 0 for removed types. */
  public int elements() {
    return elements;
  }

  /** Bytes of a block. */
  public int bytes() {
    return bytes;
  }

  /** Bytes stored once a row, in front of its blocks. */
  public int rowPrefix() {
    return rowPrefix;
  }

  /** Bytes stored once a tensor, behind its rows. */
  public int tensorSuffix() {
    return tensorSuffix;
  }

  /** Bytes of a row; IllegalArgumentException unless whole blocks fill it. */
  public long rowBytes(long rowElements) {
    if (elements == 0 || rowElements < 0 || rowElements % elements != 0) {
      throw new IllegalArgumentException(
          "rows of " + rowElements + " are no whole blocks of " + name);
    }
    return Math.addExact(Math.multiplyExact(rowElements / elements, (long) bytes), rowPrefix);
  }

  /** Bytes of a tensor of a shape, rows last. */
  public long tensorBytes(long... shape) {
    long rows = 1;
    for (int i = 0; i + 1 < shape.length; i++) {
      rows = Math.multiplyExact(rows, shape[i]);
    }
    long row = rowBytes(shape.length == 0 ? 1 : shape[shape.length - 1]);
    return Math.addExact(Math.multiplyExact(rows, row), tensorSuffix);
  }

  /** The codes of a block; empty for plain numbers and removed types. */
  public List<Codes.Array> arrays() {
    return kernel() == null ? List.of() : kernel().arrays();
  }

  /** The codes of whole little-endian blocks; see {@link Codes}. */
  public Codes unpack(byte[] blocks) {
    return Codes.unpack(this, blocks);
  }

  /** The little-endian blocks of codes; unpack's way back. */
  public byte[] pack(Map<String, int[]> codes) {
    return Codes.pack(this, codes);
  }

  /** Null where there is no layout. */
  Kernel kernel() {
    Kernel made = kernel;
    if (made == null && elements > 0) {
      made = Kernels.of(number);
      kernel = made;
    }
    return made;
  }

  @Override
  public String toString() {
    return name;
  }
}
