package ggufspec;

/** The kernel of each type, loaded when it is first used. */
final class Kernels {
  private Kernels() {}

  /** By the place of a type in {@link Types#all}; null where a type has no layout. */
  static Kernel of(int type) {
    return switch (type) {
@CASES@
      default -> null;
    };
  }
}
