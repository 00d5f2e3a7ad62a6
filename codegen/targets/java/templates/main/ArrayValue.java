package ggufspec;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.AbstractList;
import java.util.Collection;
import java.util.List;
import java.util.RandomAccess;

/**
 * An array of a file, decoded element by element when it is asked for.
 *
 * <p>Numbers come one by one ({@link #getLong}), all at once ({@link #toInts}), or as a buffer over
 * the file's own bytes ({@link #buffer}); strings as a {@link List} that decodes on demand.
 */
public final class ArrayValue implements Value {
  private static final int STEP = 32;

  final Bytes source;
  final Layout layout;
  final boolean big;
  final long start;
  final long end;
  private final ValueType type;
  private final ValueType elements;
  private final long count;
  private volatile long[] index;

  /** Elements between two places of the source, what stands in front of them left out. */
  ArrayValue(Bytes source, Layout layout, boolean big, ValueType type, ValueType elements, long count,
      long start, long end) {
    this.source = source;
    this.layout = layout;
    this.big = big;
    this.type = type;
    this.elements = elements;
    this.count = count;
    this.start = start;
    this.end = end;
  }

  @Override
  public ValueType type() {
    return type;
  }

  /** The type of the elements. */
  public ValueType elementType() {
    return elements;
  }

  /** How many elements there are. */
  public long size() {
    return count;
  }

  /** An integer or boolean: its value, and of a UINT64 its bits. */
  public long getLong(long index) {
    long value = stored(index, "integers");
    return elements.kind() == ValueType.Kind.SIGNED ? Numbers.extend(value, elements.bytes()) : value;
  }

  /** A float, or an integer rounded to one (of a UINT64 its unsigned value). */
  public double getDouble(long index) {
    if (elements.kind() == ValueType.Kind.FLOAT) {
      return Numbers.real(stored(index, "numbers"), elements.bytes());
    }
    long value = getLong(index);
    boolean wraps = value < 0 && elements.kind() == ValueType.Kind.UNSIGNED;
    return wraps ? (value >>> 1 | value & 1) * 2.0 : value;
  }

  /** A float; a FLOAT64 is rounded once. */
  public float getFloat(long index) {
    if (elements.kind() == ValueType.Kind.FLOAT && elements.bytes() == 4) {
      return Float.intBitsToFloat((int) stored(index, "numbers"));
    }
    return (float) getDouble(index);
  }

  /** A boolean: everything but 0 is true. */
  public boolean getBoolean(long index) {
    return stored(index, "booleans") != 0;
  }

  /** The stored bits of a number. */
  public long getBits(long index) {
    return stored(index, "numbers");
  }

  /** All integers; GgufException where one is out of range. */
  public int[] toInts() {
    int[] made = new int[Numbers.arrayLength(count, start)];
    for (int i = 0; i < made.length; i++) {
      long value = getLong(i);
      made[i] = (int) value;
      if (made[i] != value) {
        throw wrong(value + " is out of an int's range");
      }
    }
    return made;
  }

  /** All integers, of UINT64 their bits. */
  public long[] toLongs() {
    long[] made = new long[Numbers.arrayLength(count, start)];
    for (int i = 0; i < made.length; i++) {
      made[i] = getLong(i);
    }
    return made;
  }

  /** All numbers, of FLOAT64 rounded once. */
  public float[] toFloats() {
    float[] made = new float[Numbers.arrayLength(count, start)];
    for (int i = 0; i < made.length; i++) {
      made[i] = getFloat(i);
    }
    return made;
  }

  /** All numbers. */
  public double[] toDoubles() {
    double[] made = new double[Numbers.arrayLength(count, start)];
    for (int i = 0; i < made.length; i++) {
      made[i] = getDouble(i);
    }
    return made;
  }

  /**
   * The stored bytes of the elements, read-only and not copied, in their own byte order: {@code
   * buffer().asIntBuffer()}. GgufException for 2 GiB and more.
   */
  public ByteBuffer buffer() {
    source.checkOpen();
    ByteBuffer view = source.slice(start, Numbers.arrayLength(end - start, start));
    return view.order(big ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
  }

  /** The strings as text, decoded when they are asked for; see {@link Value.OfString#text}. */
  public List<String> strings() {
    check(ValueType.Kind.STRING, "strings");
    return new View<String>(this) {
      @Override
      String at(long position) {
        long length = source.number(position, layout.lengthWidth(), big);
        return decoded(position, length);
      }
    };
  }

  /** A string. */
  public Value.OfString getString(long index) {
    check(ValueType.Kind.STRING, "strings");
    long at = position(index);
    long length = source.number(at, layout.lengthWidth(), big);
    return new Value.OfString(elements, source, at + layout.lengthWidth(), length);
  }

  /** The arrays of an array of arrays, found when they are asked for. */
  public List<ArrayValue> arrays() {
    check(ValueType.Kind.ARRAY, "arrays");
    return new View<ArrayValue>(this) {
      @Override
      ArrayValue at(long position) {
        return inner(position);
      }
    };
  }

  /** An array of an array of arrays. */
  public ArrayValue getArray(long index) {
    check(ValueType.Kind.ARRAY, "arrays");
    return inner(position(index));
  }

  /** An element of any type. */
  public Value get(long index) {
    return switch (elements.kind()) {
      case STRING -> getString(index);
      case ARRAY -> getArray(index);
      case FLOAT -> new OfFloat(elements, getBits(index));
      case BOOL -> new OfBool(elements, getBits(index));
      default -> {
        checkIndex(index);
        long at = start + index * elements.bytes();
        yield new OfInteger(elements, Numbers.exact(source, at, elements, big));
      }
    };
  }

  @Override
  public String toString() {
    return "ARRAY[" + elements + "] of " + count;
  }

  static ArrayValue of(ValueType elements, Collection<? extends Value> values) {
    Layout layout = Layout.of(Container.CURRENT);
    ByteArrayOutputStream raw = new ByteArrayOutputStream();
    for (Value value : values) {
      if (value.type() != elements) {
        throw new IllegalArgumentException("an element of ARRAY[" + elements + "] is "
            + value.type());
      }
      raw.writeBytes(Encoder.encoded(layout, value));
    }
    return made(layout, elements, values.size(), raw.toByteArray());
  }

  static ArrayValue of(ValueType elements, long[] values) {
    int width = elements.bytes();
    byte[] raw = new byte[Math.multiplyExact(values.length, width)];
    boolean unsigned = elements.kind() == ValueType.Kind.UNSIGNED;
    if (!unsigned && elements.kind() != ValueType.Kind.SIGNED) {
      throw new IllegalArgumentException(elements + " is no type of integers");
    }
    for (int i = 0; i < values.length; i++) {
      long kept = unsigned && width < 8 ? values[i] & (1L << 8 * width) - 1
          : Numbers.extend(values[i], width);
      if (kept != values[i]) {
        throw new IllegalArgumentException(elements + " cannot hold " + values[i]);
      }
      Numbers.put(raw, i * width, width, values[i]);
    }
    return made(Layout.of(Container.CURRENT), elements, values.length, raw);
  }

  static ArrayValue of(float[] values) {
    byte[] raw = new byte[Math.multiplyExact(values.length, 4)];
    for (int i = 0; i < values.length; i++) {
      Numbers.put(raw, 4 * i, 4, Float.floatToRawIntBits(values[i]));
    }
    return made(Layout.of(Container.CURRENT), ValueType.FLOAT32, values.length, raw);
  }

  private static ArrayValue made(Layout layout, ValueType elements, long count, byte[] raw) {
    return new ArrayValue(
        Bytes.wrap(raw), layout, false, ValueType.ARRAY, elements, count, 0, raw.length);
  }

  private void check(ValueType.Kind kind, String what) {
    source.checkOpen();
    if (elements.kind() != kind) {
      throw wrong("an array of " + elements + " holds no " + what);
    }
  }

  private long stored(long index, String what) {
    source.checkOpen();
    if (elements.bytes() == 0) {
      throw wrong("an array of " + elements + " holds no " + what);
    }
    checkIndex(index);
    return source.number(start + index * elements.bytes(), elements.bytes(), big);
  }

  private void checkIndex(long index) {
    if (index < 0 || index >= count) {
      throw new IndexOutOfBoundsException("element " + index + " of " + count);
    }
  }

  private GgufException wrong(String problem) {
    return new GgufException("", start, "metadata", problem, "");
  }

  /** Where the length of a string, or the head of an array, stands. */
  private long position(long number) {
    checkIndex(number);
    long at = marks()[(int) (number / STEP)];
    for (long left = number % STEP; left > 0; left--) {
      at = next(at);
    }
    return at;
  }

  /** The place of every {@link #STEP}th element. */
  private long[] marks() {
    source.checkOpen();
    long[] made = index;
    if (made == null) {
      made = new long[(int) ((count + STEP - 1) / STEP)];
      long at = start;
      for (long i = 0; i < count; i++) {
        if (i % STEP == 0) {
          made[(int) (i / STEP)] = at;
        }
        at = next(at);
      }
      index = made;
    }
    return made;
  }

  /** The place behind a string or array. */
  private long next(long at) {
    if (elements.kind() == ValueType.Kind.ARRAY) {
      return Arrays.skip(source, layout, big, at, end);
    }
    int width = layout.lengthWidth();
    if (end - at < width) {
      throw GgufException.changed(at);
    }
    long length = source.number(at, width, big);
    if (Long.compareUnsigned(length, end - at - width) > 0) {
      throw GgufException.changed(at);
    }
    return at + width + length;
  }

  private String decoded(long at, long length) {
    int width = layout.lengthWidth();
    if (Long.compareUnsigned(length, end - at - width) > 0) {
      throw GgufException.changed(at);
    }
    int count = Numbers.arrayLength(length, at);
    return new String(source.read(at + width, count), StandardCharsets.UTF_8);
  }

  private ArrayValue inner(long at) {
    Arrays.Head head = Arrays.head(source, layout, big, at, end);
    long inside = at + layout.headWidth();
    long behind = Arrays.skip(source, layout, big, at, end);
    return new ArrayValue(
        source, layout, big, type, layout.types()[head.type()], head.count(), inside, behind);
  }

  /** A list over the elements; a running look goes on from where the last one was. */
  private abstract static class View<T> extends AbstractList<T> implements RandomAccess {
    private final ArrayValue array;

    View(ArrayValue array) {
      this.array = array;
    }

    abstract T at(long position);

    @Override
    public T get(int number) {
      return at(array.position(number));
    }

    @Override
    public int size() {
      return (int) Math.min(array.count, Integer.MAX_VALUE);
    }

    @Override
    public java.util.Iterator<T> iterator() {
      return new java.util.Iterator<>() {
        private long at = array.start;
        private long left = array.count;

        @Override
        public boolean hasNext() {
          return left > 0;
        }

        @Override
        public T next() {
          array.source.checkOpen();
          if (left == 0) {
            throw new java.util.NoSuchElementException();
          }
          long here = at;
          at = array.next(here);
          left--;
          return View.this.at(here);
        }
      };
    }
  }
}
