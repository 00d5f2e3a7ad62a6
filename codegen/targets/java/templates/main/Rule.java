package ggufspec;

/**
 * One thing a file must keep to. {@code errors} and {@code limits} have one entry a profile; limits
 * are unsigned. {@code first} and {@code second} name a finding's numbers in the message.
 */
record Rule(String id, int check, boolean[] errors, long[] limits, String key, String first,
    String second, String message, String hint) {
  static final int WALK = 0;
  static final int AT_LEAST = 1;
  static final int AT_MOST = 2;
  static final int UTF8 = 3;
  static final int PRINTABLE = 4;
  static final int DOTTED = 5;
  static final int UNIQUE = 6;
  static final int PRESENT = 7;
  static final int PRESENT_IF_QUANTIZED = 8;

  /** Whether a number is on the wrong side of the limit. */
  boolean breaks(long value, int profile) {
    int order = Long.compareUnsigned(value, limits[profile]);
    return check == AT_MOST ? order > 0 : check == AT_LEAST && order < 0;
  }
}
