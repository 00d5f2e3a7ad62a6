package ggufspec;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

/** A metadata value with its GGUF type. */
public sealed interface Value
    permits Value.OfInteger, Value.OfFloat, Value.OfBool, Value.OfString, ArrayValue {
  /** The value type; of an array {@code ARRAY}. */
  ValueType type();

  /** A STRING. IllegalArgumentException for lone surrogates. */
  static Value of(String text) {
    return new OfString(Bytes.wrap(Text.textBytes(text)));
  }

  /** A STRING of any bytes. */
  static Value of(byte[] raw) {
    return new OfString(Bytes.wrap(raw.clone()));
  }

  /** A BOOL. */
  static Value of(boolean value) {
    return new OfBool(ValueType.BOOL, value ? 1 : 0);
  }

  /** A FLOAT32. */
  static Value of(float value) {
    return new OfFloat(ValueType.FLOAT32, Float.floatToRawIntBits(value) & 0xffffffffL);
  }

  /** A FLOAT64. */
  static Value of(double value) {
    return new OfFloat(ValueType.FLOAT64, Double.doubleToRawLongBits(value));
  }

  /** An integer of a type; IllegalArgumentException if it does not fit. */
  static Value of(ValueType type, long value) {
    return new OfInteger(type, BigInteger.valueOf(value));
  }

  /** An integer of a type; IllegalArgumentException if it does not fit. */
  static Value of(ValueType type, BigInteger value) {
    return new OfInteger(type, value);
  }

  /** An array of strings. */
  static ArrayValue array(Collection<String> texts) {
    return ArrayValue.of(ValueType.STRING, texts.stream().map(Value::of).toList());
  }

  /** An array of integers of a type. */
  static ArrayValue array(ValueType type, long... values) {
    return ArrayValue.of(type, values);
  }

  /** An array of FLOAT32. */
  static ArrayValue array(float... values) {
    return ArrayValue.of(values);
  }

  /** An array of values that all have the element type; ARRAY for arrays of arrays. */
  static ArrayValue array(ValueType elements, Collection<? extends Value> values) {
    return ArrayValue.of(elements, values);
  }

  /** An integer of any width, exact. */
  record OfInteger(ValueType type, BigInteger value) implements Value {
    /** IllegalArgumentException if the type is none of integers or cannot hold the value. */
    public OfInteger {
      boolean signed = type.kind() == ValueType.Kind.SIGNED;
      if (!signed && type.kind() != ValueType.Kind.UNSIGNED) {
        throw new IllegalArgumentException(type + " is no type of integers");
      }
      int bits = 8 * type.bytes() - (signed ? 1 : 0);
      if (value.bitLength() > bits || !signed && value.signum() < 0) {
        throw new IllegalArgumentException(type + " cannot hold " + value);
      }
    }

    /** The lower 64 bits: the value itself, and of a UINT64 its bits. */
    public long longValue() {
      return value.longValue();
    }

    /** The value; GgufException if it is out of an int's range. */
    public int intValue() {
      if (value.bitLength() > 31) {
        throw new GgufException("", -1, "", value + " is out of an int's range", "");
      }
      return value.intValue();
    }

    @Override
    public String toString() {
      return value.toString();
    }
  }

  /** A float as its bits, so that a NaN's survive. */
  record OfFloat(ValueType type, long bits) implements Value {
    /** IllegalArgumentException if the type is none of floats. */
    public OfFloat {
      if (type.kind() != ValueType.Kind.FLOAT) {
        throw new IllegalArgumentException(type + " is no type of floats");
      }
    }

    /** The value, of a FLOAT64 rounded once. */
    public float floatValue() {
      return type.bytes() == 4 ? Float.intBitsToFloat((int) bits) : (float) doubleValue();
    }

    /** The value, exact. */
    public double doubleValue() {
      return Numbers.real(bits, type.bytes());
    }

    @Override
    public String toString() {
      return type.bytes() == 4 ? Float.toString(floatValue()) : Double.toString(doubleValue());
    }
  }

  /** A boolean; {@code bits} is what is stored, and everything but 0 is true. */
  record OfBool(ValueType type, long bits) implements Value {
    /** IllegalArgumentException if the type is none of booleans. */
    public OfBool {
      if (type.kind() != ValueType.Kind.BOOL) {
        throw new IllegalArgumentException(type + " is no type of booleans");
      }
    }

    /** The value. */
    public boolean booleanValue() {
      return bits != 0;
    }

    @Override
    public String toString() {
      return Boolean.toString(booleanValue());
    }
  }

  /** A string, decoded when it is asked for. */
  final class OfString implements Value {
    final Bytes source;
    final long start;
    private final long length;
    private final ValueType type;

    OfString(Bytes raw) {
      this(ValueType.STRING, raw, 0, raw.size);
    }

    OfString(ValueType type, Bytes source, long start, long length) {
      this.type = type;
      this.source = source;
      this.start = start;
      this.length = length;
    }

    @Override
    public ValueType type() {
      return type;
    }

    /** The bytes it has. */
    public long length() {
      return length;
    }

    /** The text; bytes that are no UTF-8 become U+FFFD, see {@link #bytes}. */
    public String text() {
      return new String(bytes(), StandardCharsets.UTF_8);
    }

    /** Whether {@link #text} is exact. */
    public boolean isUtf8() {
      source.checkOpen();
      return Text.isUtf8(source, start, length);
    }

    /** The bytes; GgufException for more than an array can hold. */
    public byte[] bytes() {
      source.checkOpen();
      return source.read(start, Numbers.arrayLength(length, start));
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof OfString string && java.util.Arrays.equals(bytes(), string.bytes());
    }

    @Override
    public int hashCode() {
      return java.util.Arrays.hashCode(bytes());
    }

    @Override
    public String toString() {
      return text();
    }
  }
}
