package ggufspec;

/** The alignment of the data section as the metadata give it; unsigned. */
record Alignment(long value, boolean good) {
  /** Reports what is wrong; not good when a rule that the profile asks for calls it an error. */
  static Alignment of(Walk walk) {
    Integer record = walk.keyOf.get(Container.ALIGNMENT_KEY);
    if (record == null) {
      return new Alignment(Container.ALIGNMENT_DEFAULT, true);
    }
    int field = walk.fieldNamed(Container.METADATA, "value");
    long start = walk.keys.get(record, Container.VALUE + 3);
    ValueType type = walk.layout.types()[walk.layout.find(walk.keys.get(record, Container.VALUE))];
    boolean integer = type.kind() == ValueType.Kind.UNSIGNED || type.kind() == ValueType.Kind.SIGNED;
    Checks checks = new Checks(walk, record, field, start);
    checks.hold(Container.ALIGNMENT_UINT32, type.name().equals("UINT32"), type.id());
    checks.hold(Container.ALIGNMENT_INTEGER, integer, type.id());
    if (!integer) {
      return new Alignment(0, false);
    }
    long number = walk.bytes.number(start, type.bytes(), walk.big);
    boolean signed = type.kind() == ValueType.Kind.SIGNED;
    number = signed ? Numbers.extend(number, type.bytes()) : number;
    boolean negative = signed && number < 0;
    if (negative || below(number, checks.limit(Container.ALIGNMENT_AT_LEAST))) {
      checks.hold(Container.ALIGNMENT_AT_LEAST, false, number);
    } else {
      boolean power = (number & number - 1) == 0;
      long either = checks.limit(Container.ALIGNMENT_EITHER);
      long multiple = checks.limit(Container.ALIGNMENT_MULTIPLE);
      boolean small = !below(checks.limit(Container.ALIGNMENT_AT_MOST), number);
      checks.hold(Container.ALIGNMENT_POWER_OF_TWO, power, number);
      checks.hold(Container.ALIGNMENT_MULTIPLE, Long.remainderUnsigned(number, multiple) == 0, number);
      checks.hold(Container.ALIGNMENT_EITHER,
          power || Long.remainderUnsigned(number, either) == 0, number);
      checks.hold(Container.ALIGNMENT_AT_MOST, small, number);
    }
    return new Alignment(number, checks.good && number != 0 && !negative);
  }

  private static boolean below(long a, long b) {
    return Long.compareUnsigned(a, b) < 0;
  }

  /** What holds of one value, and whether nothing grave does not. */
  private static final class Checks {
    private final Walk walk;
    private final int record;
    private final int field;
    private final long offset;
    private boolean good = true;

    Checks(Walk walk, int record, int field, long offset) {
      this.walk = walk;
      this.record = record;
      this.field = field;
      this.offset = offset;
    }

    long limit(int rule) {
      return walk.limit(rule);
    }

    void hold(int rule, boolean holds, long value) {
      if (!holds) {
        walk.reportAt(rule, Container.METADATA, record, field, offset, value, limit(rule));
        good &= !walk.asked(rule);
      }
    }
  }
}
