package ggufspec;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.Map;

/** Records and values to bytes, in one version and byte order. */
final class Encoder {
  private static final int ROOM = 1 << 16;

  private final Layout layout;
  private final boolean big;
  private final WritableByteChannel channel;
  private ByteBuffer buffer = ByteBuffer.allocate(ROOM);
  private long written;

  /** Without a channel everything stays in memory. */
  Encoder(Layout layout, boolean big, WritableByteChannel channel) {
    this.layout = layout;
    this.big = big;
    this.channel = channel;
  }

  /** A value alone, little-endian, without the number of its type. */
  static byte[] encoded(Layout layout, Value value) {
    Encoder encoder = new Encoder(layout, false, null);
    try {
      encoder.value("an element", value);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return java.util.Arrays.copyOf(encoder.buffer.array(), encoder.buffer.position());
  }

  long written() {
    return written;
  }

  void flush() throws IOException {
    buffer.flip();
    while (buffer.hasRemaining()) {
      channel.write(buffer);
    }
    buffer.clear();
  }

  void bytes(ByteBuffer data) throws IOException {
    written += data.remaining();
    if (channel != null && data.remaining() > ROOM) {
      flush();
      while (data.hasRemaining()) {
        channel.write(data);
      }
      return;
    }
    makeRoom(data.remaining());
    buffer.put(data);
  }

  void bytes(byte[] data) throws IOException {
    bytes(ByteBuffer.wrap(data));
  }

  /** The lower bytes of a number. */
  void number(long value, int width) throws IOException {
    makeRoom(width);
    for (int i = 0; i < width; i++) {
      int shift = 8 * (big ? width - 1 - i : i);
      buffer.put((byte) (shift < 64 ? value >> shift : value >> 63));
    }
    written += width;
  }

  /** An unsigned number; IllegalArgumentException if the version has no room for it. */
  void unsigned(long value, int width, String name) throws IOException {
    if (width < 8 && value >>> 8 * width != 0) {
      throw new IllegalArgumentException(name + " is " + Long.toUnsignedString(value) + ", version "
          + layout.version() + " has " + width + " bytes for it");
    }
    number(value, width);
  }

  void padding(long alignment) throws IOException {
    long over = written % alignment;
    byte[] piece = new byte[(int) Math.min(ROOM, alignment)];
    java.util.Arrays.fill(piece, (byte) Container.PADDING);
    for (long left = over == 0 ? 0 : alignment - over; left > 0;) {
      int step = (int) Math.min(left, piece.length);
      bytes(ByteBuffer.wrap(piece, 0, step));
      left -= step;
    }
  }

  /**
   * The fields of a record in their order. {@code fields} has numbers, {@code long[]} for those that
   * repeat, {@code byte[]} for strings and a {@link Value}; what is not in it is 0.
   */
  void record(int section, String subject, Map<String, ?> fields) throws IOException {
    for (Field field : layout.sections()[section]) {
      Object value = fields.get(field.name());
      switch (field.kind()) {
        case LITERAL -> {
          for (int i = 0; i < field.width(); i++) {
            number(field.literal().charAt(i), 1);
          }
        }
        case VERSION -> unsigned(layout.version(), field.width(), field.name());
        case STRING -> {
          byte[] text = (byte[]) value;
          unsigned(text.length, field.width(), field.name());
          bytes(text);
        }
        case VALUE -> {
          ValueType type = ((Value) value).type();
          check(subject, type);
          unsigned(type.id(), field.width(), field.name());
          value(subject, (Value) value);
        }
        case NUMBER -> numbers(field, value);
      }
    }
  }

  private void numbers(Field field, Object value) throws IOException {
    if (field.repeat() < 0) {
      unsigned(value == null ? 0 : (Long) value, field.width(), field.name());
      return;
    }
    for (long number : value == null ? new long[0] : (long[]) value) {
      unsigned(number, field.width(), field.name());
    }
  }

  private void value(String subject, Value value) throws IOException {
    if (value instanceof Value.OfString string) {
      string.source.checkOpen();
      unsigned(string.length(), layout.lengthWidth(), "the length of a string");
      copy(string.source, string.start, string.length());
    } else if (value instanceof ArrayValue array) {
      array(subject, array);
    } else if (value instanceof Value.OfInteger integer) {
      if (integer.type().bytes() <= 8) {
        number(integer.longValue(), integer.type().bytes());
      } else {
        wide(integer);
      }
    } else if (value instanceof Value.OfFloat real) {
      number(real.bits(), real.type().bytes());
    } else if (value instanceof Value.OfBool flag) {
      number(flag.bits(), flag.type().bytes());
    }
  }

  private void wide(Value.OfInteger integer) throws IOException {
    int width = integer.type().bytes();
    for (int i = 0; i < width; i++) {
      int shift = 8 * (big ? width - 1 - i : i);
      number(integer.value().shiftRight(shift).longValue(), 1);
    }
  }

  private void check(String subject, ValueType type) {
    if (layout.find(type.id()) < 0) {
      throw new IllegalArgumentException(
          subject + ": version " + layout.version() + " has no value type " + type);
    }
  }

  private void head(String subject, ValueType type, long count) throws IOException {
    check(subject, type);
    if (layout.countFirst()) {
      unsigned(count, layout.countWidth(), "count");
    }
    unsigned(type.id(), layout.idWidth(), "element_type");
    if (!layout.countFirst()) {
      unsigned(count, layout.countWidth(), "count");
    }
  }

  /** An array with all that is in it, without recursion; numbers and strings keep their bits. */
  private void array(String subject, ArrayValue array) throws IOException {
    array.source.checkOpen();
    long[] left = new long[Container.DEEPEST];
    int depth = 0;
    ValueType type = array.elementType();
    long count = array.size();
    long at = array.start;
    while (true) {
      head(subject, type, count);
      if (type.kind() == ValueType.Kind.ARRAY) {
        if (depth == Container.DEEPEST) {
          throw new IllegalArgumentException(
              subject + " has arrays nested more than " + Container.DEEPEST + " deep");
        }
        left[depth++] = count;
      } else {
        at = elements(array, type, count, at);
      }
      while (depth > 0 && left[depth - 1] == 0) {
        depth--;
      }
      if (depth == 0) {
        return;
      }
      left[depth - 1]--;
      Arrays.Head inner = Arrays.head(array.source, array.layout, array.big, at, array.end);
      at += array.layout.headWidth();
      type = array.layout.types()[inner.type()];
      count = inner.count();
    }
  }

  /** The place behind the elements. */
  private long elements(ArrayValue array, ValueType type, long count, long at) throws IOException {
    boolean same = array.big == big;
    if (type.kind() != ValueType.Kind.STRING) {
      int width = type.bytes();
      if (same || width == 1) {
        copy(array.source, at, count * width);
        return at + count * width;
      }
      byte[] number = new byte[width];
      for (long i = 0; i < count; i++, at += width) {
        array.source.read(at, number, 0, width);
        for (int k = width - 1; k >= 0; k--) {
          number(number[k], 1);
        }
      }
      return at;
    }
    int width = array.layout.lengthWidth();
    if (same && width == layout.lengthWidth()) {
      long behind = Arrays.skipStrings(array.source, array.layout, array.big, at, array.end, count);
      copy(array.source, at, behind - at);
      return behind;
    }
    for (long i = 0; i < count; i++) {
      long behind = Arrays.skipStrings(array.source, array.layout, array.big, at, array.end, 1);
      unsigned(behind - at - width, layout.lengthWidth(), "the length of a string");
      copy(array.source, at + width, behind - at - width);
      at = behind;
    }
    return at;
  }

  private void copy(Bytes source, long at, long count) throws IOException {
    while (count > 0) {
      int step = (int) Math.min(count, 1 << Bytes.SHIFT);
      bytes(source.window(at).slice(Bytes.place(at), step));
      at += step;
      count -= step;
    }
  }

  private void makeRoom(int more) throws IOException {
    if (more <= buffer.remaining()) {
      return;
    }
    if (channel != null) {
      flush();
      if (more <= buffer.capacity()) {
        return;
      }
    }
    long wanted = Math.max(2L * buffer.capacity(), (long) buffer.position() + more);
    int grown = (int) Math.min(wanted, Integer.MAX_VALUE - 8);
    buffer = ByteBuffer.allocate(grown).put(buffer.flip());
  }
}
