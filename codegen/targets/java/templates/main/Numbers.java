package ggufspec;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.math.BigInteger;
import java.nio.ByteOrder;

/**
 * Stored words and numbers in byte arrays, little-endian and at any place.
 *
 * <p>Java 17 rounds every operation on floats once, to its own width, on every machine (JEP 306) and
 * never fuses two; {@link Math#fma} is not used anywhere here.
 */
final class Numbers {
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Small integers as floats: cheaper looked up than converted. */
  static final float[] SMALL = new float[256];
  static final float[] SIGNED = new float[256];

  static {
    for (int i = 0; i < 256; i++) {
      SMALL[i] = i;
      SIGNED[i] = i - 128;
    }
  }

  private Numbers() {}

  /** Each byte's slice of bits as a float. */
  static float[] slices(int shift, int width) {
    float[] made = new float[256];
    for (int i = 0; i < 256; i++) {
      made[i] = i >> shift & (1 << width) - 1;
    }
    return made;
  }

  static int u16(byte[] from, int at) {
    return (short) SHORT.get(from, at) & 0xffff;
  }

  static int i16(byte[] from, int at) {
    return (short) SHORT.get(from, at);
  }

  static int u32(byte[] from, int at) {
    return (int) INT.get(from, at);
  }

  static long u64(byte[] from, int at) {
    return (long) LONG.get(from, at);
  }

  static void put(byte[] to, int at, int bytes, long value) {
    for (int i = 0; i < bytes; i++) {
      to[at + i] = (byte) (value >>> 8 * i);
    }
  }

  static void or(byte[] to, int at, int bytes, long value) {
    for (int i = 0; i < bytes; i++) {
      to[at + i] |= (byte) (value >>> 8 * i);
    }
  }

  /** The float32 of an IEEE half, exact; NaNs are quieted and keep their payload. */
  static float half(int bits) {
    int sign = (bits & 0x8000) << 16;
    int magnitude = bits & 0x7fff;
    if (magnitude - 0x0400 >= 0 && magnitude < 0x7c00) {
      return Float.intBitsToFloat(sign | (magnitude << 13) + (112 << 23));
    }
    if (magnitude < 0x0400) {
      return Float.intBitsToFloat(sign | Float.floatToRawIntBits(magnitude * 0x1p-24f));
    }
    int quiet = magnitude > 0x7c00 ? 1 << 22 : 0;
    return Float.intBitsToFloat(sign | magnitude << 13 | 0xff << 23 | quiet);
  }

  /** The upper half of a float32. */
  static float bfloat(int bits) {
    return Float.intBitsToFloat(bits << 16);
  }

  /** A stored float of 2, 4 or 8 bytes. */
  static double real(long bits, int bytes) {
    return switch (bytes) {
      case 2 -> half((int) bits);
      case 4 -> Float.intBitsToFloat((int) bits);
      case 8 -> Double.longBitsToDouble(bits);
      default -> throw new IllegalArgumentException("floats of " + bytes + " bytes");
    };
  }

  /** -1.0 for 1 and 1.0 for 0. */
  static float sign(int bit) {
    return Float.intBitsToFloat(0x3f800000 | bit << 31);
  }

  /** {@code yes} where a number is not 0, without a branch: bits of codes are hard to predict. */
  static float select(int condition, float yes, float no) {
    int other = Float.floatToRawIntBits(no);
    int mask = (condition | -condition) >> 31;
    return Float.intBitsToFloat(other ^ (other ^ Float.floatToRawIntBits(yes)) & mask);
  }

  static float select(long condition, float yes, float no) {
    return condition != 0 ? yes : no;
  }

  static int select(int condition, int yes, int no) {
    return condition != 0 ? yes : no;
  }

  static long select(long condition, long yes, long no) {
    return condition != 0 ? yes : no;
  }

  /** Base-3 digit {@code digit} of a byte, 0 the most significant. */
  static int trit(int value, int digit) {
    return (value * POWERS[digit] & 255) * 3 >> 8;
  }

  /** Writes a digit into a byte that holds the number 0..242 of those written so far. */
  static void addTrit(byte[] to, int at, int value, int digit) {
    int counted = Integer.compareUnsigned(value, 2) > 0 ? 2 : value;
    to[at] += (byte) (counted * POWERS[4 - digit]);
  }

  /** Makes the fraction of 256 of that number. */
  static void sealTrits(byte[] to, int at) {
    to[at] = (byte) (((to[at] & 255) * 256 + 242) / 243);
  }

  /** A codebook of few numbers, several entries a digit in base 36. */
  static byte[] codebook(int length, int together, byte[] numbers, String digits) {
    byte[] made = new byte[length];
    for (int i = 0; i < length; i++) {
      int digit = Character.digit(digits.charAt(i / together), 36);
      for (int k = i % together; k > 0; k--) {
        digit /= numbers.length;
      }
      made[i] = numbers[digit % numbers.length];
    }
    return made;
  }

  /** An exact integer of a stored one's lower 64 bits. */
  static BigInteger exact(Bytes source, long at, ValueType type, boolean big) {
    boolean signed = type.kind() == ValueType.Kind.SIGNED;
    int width = type.bytes();
    if (width < 8 || width == 8 && signed) {
      long value = source.number(at, width, big);
      return BigInteger.valueOf(signed ? extend(value, width) : value);
    }
    byte[] raw = new byte[width];
    for (int i = 0; i < width; i++) {
      raw[i] = (byte) source.u8(big ? at + i : at + width - 1 - i);
    }
    return signed ? new BigInteger(raw) : new BigInteger(1, raw);
  }

  /** A number of so many bytes with its sign carried on. */
  static long extend(long value, int bytes) {
    int rest = Math.max(0, 64 - 8 * bytes);
    return value << rest >> rest;
  }

  /** A length that an array of Java can have; GgufException for a longer one. */
  static int arrayLength(long length, long offset) {
    if (length < 0 || length > Integer.MAX_VALUE - 8) {
      throw new GgufException("", offset, "metadata", Long.toUnsignedString(length)
          + " are more than an array of Java can hold", "read it piece by piece");
    }
    return (int) length;
  }

  /** a * b if both are unsigned and the product is at most {@code most}, else -1. */
  static long product(long a, long b, long most) {
    if (a != 0 && Long.compareUnsigned(b, Long.divideUnsigned(most, a)) > 0) {
      return -1;
    }
    return a * b;
  }

  private static final int[] POWERS = {1, 3, 9, 27, 81};
}
