package ggufspec;

/**
 * Codebooks, row after row, and the value of each byte of an 8-bit float. A codebook of few numbers
 * is a string of digits in base 36, each the places of so many entries among them, the first lowest:
 * a method of Java's has no room for long arrays.
 */
final class Codebooks {
@BOOKS@

  private Codebooks() {}
}
