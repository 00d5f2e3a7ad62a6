package ggufspec;

/**
 * One field of a record as one version has it. {@code width} is the bytes of a number, of a
 * string's length or of a value type's id. A walk keeps it in {@code columns} columns from {@code
 * column} on; {@code repeat} is the column that says how often it stands here, -1 for once; {@code
 * counts} the section whose records it counts, -1 for none.
 */
record Field(String name, Kind kind, int width, int column, int columns, String literal, int counts,
    int repeat, int[] rules) {
  enum Kind {
    LITERAL,
    VERSION,
    NUMBER,
    STRING,
    VALUE
  }
}
