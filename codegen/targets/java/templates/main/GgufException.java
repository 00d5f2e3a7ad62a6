package ggufspec;

import java.util.OptionalLong;

/**
 * What is wrong with a file, where, and what to do about it: the one exception that the content of
 * a file can cause.
 *
 * <p>It is unchecked because values are decoded when they are asked for, behind interfaces such as
 * {@link java.util.List} that can declare none. The system's failures stay {@link
 * java.io.IOException}, a caller's mistakes {@link IllegalArgumentException}.
 */
public final class GgufException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String code;
  private final long offset;
  private final String path;
  private final String problem;
  private final String hint;

  GgufException(String code, long offset, String path, String problem, String hint) {
    super(where(code, offset, path) + problem + (hint.isEmpty() ? "" : " (" + hint + ")"));
    this.code = code;
    this.offset = offset;
    this.path = path;
    this.problem = problem;
    this.hint = hint;
  }

  private static String where(String code, long offset, String path) {
    if (code.isEmpty()) {
      return "";
    }
    String place = offset < 0 ? "" : " at byte " + offset;
    return code + place + (path.isEmpty() ? "" : " in " + path) + ": ";
  }

  /** The rule of a check that a file breaks; {@code arguments} are pairs of name and value. */
  static GgufException of(int rule, long offset, String path, Object... arguments) {
    Rule broken = Container.RULES[rule];
    String text = broken.message();
    for (int i = 0; i < arguments.length; i += 2) {
      text = text.replace("{" + arguments[i] + "}", String.valueOf(arguments[i + 1]));
    }
    return new GgufException(broken.id(), offset, path, text, broken.hint());
  }

  /** The file holds less than it did when it was opened. */
  static GgufException changed(long offset) {
    return new GgufException(Container.RULES[Container.FITS].id(), offset, "metadata",
        "an array does not fit into the file; it has changed since it was opened",
        Container.RULES[Container.FITS].hint());
  }

  /**
   * The id of the broken rule, as {@code GG0101}; empty where a value is not what was asked for (a
   * number out of range, more bytes than an array can hold).
   */
  public String code() {
    return code;
  }

  /** The byte of the file it was seen at; empty where no single byte is to blame. */
  public OptionalLong offset() {
    return offset < 0 ? OptionalLong.empty() : OptionalLong.of(offset);
  }

  /** The place in the description of the container, as {@code tensors[3].offset}. */
  public String path() {
    return path;
  }

  /** What is wrong, without code, place and hint. */
  public String problem() {
    return problem;
  }

  /** What helps. */
  public String hint() {
    return hint;
  }
}
