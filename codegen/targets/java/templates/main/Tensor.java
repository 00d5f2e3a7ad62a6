package ggufspec;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/** A tensor of an open file. */
public final class Tensor {
  private static final int CHUNK = 1 << 16;

  final Bytes source;
  final boolean big;
  private final String name;
  private final long typeId;
  private final long[] dims;
  private final long offset;
  private final long dataOffset;
  private final long nbytes;
  private final boolean sized;
  private final Map<String, Long> extra;

  Tensor(Bytes source, boolean big, String name, long typeId, long[] dims, long offset,
      long dataOffset, long nbytes, boolean sized, Map<String, Long> extra) {
    this.source = source;
    this.big = big;
    this.name = name;
    this.typeId = typeId;
    this.dims = dims;
    this.offset = offset;
    this.dataOffset = dataOffset;
    this.nbytes = nbytes;
    this.sized = sized;
    this.extra = extra;
  }

  /** The name; bytes that are no UTF-8 appear as lone surrogates (U+DC00 + byte). */
  public String name() {
    return name;
  }

  /** The type; empty for a number that nobody knows. */
  public Optional<TensorType> type() {
    return Optional.ofNullable(Types.known(typeId));
  }

  /** The type's name, as {@code Q4_K}, or {@code UNKNOWN(99)}. */
  public String typeName() {
    return type().map(TensorType::name).orElse("UNKNOWN(" + typeId + ")");
  }

  /** The type's number in the file. */
  public long typeId() {
    return typeId;
  }

  /** Elements along each axis, rows last: in C's and NumPy's order. */
  public long[] shape() {
    long[] shape = new long[dims.length];
    for (int i = 0; i < dims.length; i++) {
      shape[i] = dims[dims.length - 1 - i];
    }
    return shape;
  }

  /** Elements along each axis as the file has them, the fastest first. */
  public long[] dims() {
    return dims.clone();
  }

  /** How many elements there are. */
  public long elements() {
    long product = 1;
    for (long dim : dims) {
      product *= dim;
    }
    return product;
  }

  /** Elements of a row. */
  public long rowElements() {
    return dims.length == 0 ? 1 : dims[0];
  }

  /** How many rows there are. */
  public long rows() {
    long product = 1;
    for (int i = 1; i < dims.length; i++) {
      product *= dims[i];
    }
    return product;
  }

  /** Where the data starts, in bytes from the start of the data section; unsigned. */
  public long offset() {
    return offset;
  }

  /** Where the data starts, in bytes from the start of the file. */
  public long fileOffset() {
    return dataOffset + offset;
  }

  /**
   * The bytes of the data without padding; where type and shape do not tell ({@link #isSized}) those
   * until the next tensor.
   */
  public long nbytes() {
    return nbytes;
  }

  /** Whether type and shape say how many bytes there are. */
  public boolean isSized() {
    return sized;
  }

  /** The byte order of the data. */
  public ByteOrder byteOrder() {
    return big ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
  }

  /** Numbers of the tensor's info that only newer versions of the container have. */
  public Map<String, Long> extra() {
    return extra;
  }

  /**
   * The bytes of the file, read-only and not copied. GgufException for 2 GiB and more, which no
   * buffer can hold: see {@link #data(long, int)} and {@link #read}.
   */
  public ByteBuffer data() {
    if (nbytes > Integer.MAX_VALUE) {
      throw new GgufException("", fileOffset(), "data", "tensor " + Text.quoted(name) + " has "
          + nbytes + " bytes, more than a buffer can hold", "read it piece by piece");
    }
    return data(0, (int) nbytes);
  }

  /** Some bytes of the tensor, read-only and not copied, from byte {@code from} of it on. */
  public ByteBuffer data(long from, int count) {
    return view(from, count).order(byteOrder());
  }

  /** Copies bytes of the tensor, from byte {@code from} of it on, to where the target stands. */
  public void read(long from, byte[] target, int at, int count) {
    checkRange(from, count);
    java.util.Objects.checkFromIndexSize(at, count, target.length);
    source.read(fileOffset() + from, target, at, count);
  }

  /** The values as float32, rows one behind the other. */
  public float[] dequantize() {
    known();
    checkInside(); // before anything is allocated
    long elements = elements();
    if (elements < 0 || elements > Integer.MAX_VALUE - 8) {
      throw new GgufException("", fileOffset(), "data", "tensor " + Text.quoted(name) + " has "
          + elements + " elements, more than an array can hold", "dequantize it row by row");
    }
    float[] values = new float[(int) elements];
    dequantize(values);
    return values;
  }

  /** Fills an array of exactly {@link #elements} numbers. */
  public void dequantize(float[] values) {
    known();
    if (values.length != elements()) {
      throw new IllegalArgumentException(
          values.length + " numbers, tensor " + Text.quoted(name) + " has " + elements());
    }
    dequantizeRows(0, rows(), values, 0);
  }

  /**
   * The values of some rows as float32, from {@code values[at]} on. GgufException where the type is
   * unknown or removed, or its blocks do not divide the row.
   */
  public void dequantizeRows(long first, long count, float[] values, int at) {
    TensorType type = known();
    if (first < 0 || count < 0 || count > rows() - first) {
      throw new IndexOutOfBoundsException("rows " + first + " and " + count + " more of " + rows());
    }
    long row = rowElements();
    if (nbytes == 0 || count == 0) {
      return;
    }
    if (row > Integer.MAX_VALUE || count > Integer.MAX_VALUE || row * count > values.length - at) {
      throw new IndexOutOfBoundsException("no room for " + count + " rows of " + row);
    }
    byte[] tail = new byte[type.tensorSuffix()];
    read(nbytes - tail.length, tail, 0, tail.length);
    Kernel kernel = type.kernel();
    if (big) {
      kernel.swapSuffix(tail, 0);
    }
    long stride = type.rowBytes(row);
    byte[] prefix = new byte[type.rowPrefix()];
    if (prefix.length == 0) { // rows are blocks without a seam
      long blocks = row / type.elements() * count;
      chunks(kernel, type, prefix, tail, first * stride, blocks, values, at);
      return;
    }
    for (long i = first; i < first + count; i++) {
      read(i * stride, prefix, 0, prefix.length);
      if (big) {
        kernel.swapPrefix(prefix, 0);
      }
      chunks(kernel, type, prefix, tail, i * stride + prefix.length, row / type.elements(), values, at);
      at += (int) row;
    }
  }

  /** Blocks from a byte of the tensor on, a cache-sized piece at a time. */
  private void chunks(Kernel kernel, TensorType type, byte[] prefix, byte[] tail, long from,
      long blocks, float[] values, int at) {
    int step = Math.max(1, CHUNK / type.bytes());
    byte[] piece = new byte[(int) Math.min(step, blocks) * type.bytes()];
    while (blocks > 0) {
      int count = (int) Math.min(step, blocks);
      source.read(fileOffset() + from, piece, 0, count * type.bytes());
      if (big) {
        kernel.swap(piece, 0, count);
      }
      kernel.dequantize(piece, 0, count, values, at, prefix, 0, tail, 0);
      from += (long) count * type.bytes();
      at += count * type.elements();
      blocks -= count;
    }
  }

  @Override
  public String toString() {
    return name + ": " + typeName() + " " + Arrays.toString(shape());
  }

  ByteBuffer view(long from, int count) {
    checkRange(from, count);
    return source.slice(fileOffset() + from, count);
  }

  private void checkRange(long from, int count) {
    source.checkOpen();
    if (from < 0 || count < 0 || count > nbytes - from) {
      throw new IndexOutOfBoundsException(
          "bytes " + from + " and " + count + " more of " + nbytes);
    }
    long start = fileOffset() + from;
    if (count > 0 && (start < 0 || count > source.size - start)) {
      throw error(Container.INSIDE, "value", start + count, "size", source.size);
    }
  }

  /** GgufException if the file lacks some of the data, which not every profile asks about. */
  private void checkInside() {
    long start = fileOffset();
    if (nbytes > 0 && (start < 0 || nbytes > source.size - start)) {
      throw error(Container.INSIDE, "value", start + nbytes, "size", source.size);
    }
  }

  /** The type, if this tensor can be decoded. */
  private TensorType known() {
    TensorType type = Types.known(typeId);
    if (type == null) {
      throw error(Container.KNOWN_TYPE, "value", typeId);
    }
    if (type.elements() == 0) {
      throw error(Container.LIVE_TYPE, "value", type.name());
    }
    if (!sized) {
      throw error(Container.WHOLE_ROWS, "value", rowElements(), "block", type.elements());
    }
    return type;
  }

  private GgufException error(int rule, Object... arguments) {
    Object[] all = Arrays.copyOf(arguments, arguments.length + 2);
    all[arguments.length] = "subject";
    all[arguments.length + 1] = "tensor " + Text.quoted(name);
    return GgufException.of(rule, -1, "tensors", all);
  }
}
