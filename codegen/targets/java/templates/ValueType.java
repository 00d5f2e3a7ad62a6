package ggufspec;

/** A type of metadata values. */
public enum ValueType {
@ROWS@;

  /** What a value is. */
  public enum Kind {
    /** An integer from 0 up. */
    UNSIGNED,
    /** An integer of either sign. */
    SIGNED,
    /** A binary float. */
    FLOAT,
    /** 0 or 1. */
    BOOL,
    /** Bytes with a length. */
    STRING,
    /** Elements of one type with a count. */
    ARRAY
  }

  private final int id;
  private final Kind kind;
  private final int bytes;
  private final int since;

  ValueType(int id, Kind kind, int bytes, int since) {
    this.id = id;
    this.kind = kind;
    this.bytes = bytes;
    this.since = since;
  }

  /** Its number in a file. */
  public int id() {
    return id;
  }

  /** What its values are. */
  public Kind kind() {
    return kind;
  }

  /** The bytes of a value; 0 for those that have a length. */
  public int bytes() {
    return bytes;
  }

  /** The first version of the container that has it. */
  public int since() {
    return since;
  }
}
