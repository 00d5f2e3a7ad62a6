package ggufspec;

/**
 * What one version of the container looks like. {@code types} are its value types, {@code smallest}
 * and {@code rules} theirs; {@code idWidth} and {@code countWidth} the numbers in front of an
 * array's elements, {@code countFirst} their order.
 */
record Layout(int version, Field[][] sections, long[] smallestRecords, int lengthWidth, int idWidth,
    int countWidth, boolean countFirst, ValueType[] types, int[] smallest, int[][] rules) {
  /** The layout of a version; null for one that is not known. */
  static Layout of(long version) {
    for (Layout layout : Container.LAYOUTS) {
      if (layout.version == version) {
        return layout;
      }
    }
    return null;
  }

  /** The place of a value type in {@code types}, -1 for one that the version does not have. */
  int find(long id) {
    for (int i = 0; i < types.length; i++) {
      if (types[i].id() == id) {
        return i;
      }
    }
    return -1;
  }

  int headWidth() {
    return idWidth + countWidth;
  }

  int idPlace() {
    return countFirst ? countWidth : 0;
  }

  int countPlace() {
    return countFirst ? 0 : idWidth;
  }
}
