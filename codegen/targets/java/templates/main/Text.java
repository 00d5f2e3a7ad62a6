package ggufspec;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** UTF-8 in bytes that nobody has looked at: what is well-formed, and names that survive anyway. */
final class Text {
  private static final long HIGH = 0x8080808080808080L;
  private static final int[] SMALLEST = {0, 0, 0x80, 0x800, 0x10000};
  private static final int ESCAPE = 0xdc00;

  private Text() {}

  /** Whether the bytes are well-formed: no surrogates, no overlong forms, nothing unfinished. */
  static boolean isUtf8(Bytes bytes, long at, long length) {
    long end = at + length;
    while (at < end) {
      // a window goes on for more than a piece, except at the end of the file
      int from = Bytes.place(at);
      int piece = (int) Math.min(end - at, 1 << 16);
      at += wellFormed(bytes.window(at), from, from + piece) - from;
      if (at < end) { // a sequence of four bytes, of two pieces, or none
        int code = decode(bytes, at, end);
        if (code < 0) {
          return false;
        }
        at += width(code);
      }
    }
    return true;
  }

  /** The place of the first sequence that is not simply well-formed, or {@code to}. */
  private static int wellFormed(ByteBuffer window, int at, int to) {
    while (at < to) {
      int lead = window.get(at);
      if (lead >= 0) {
        boolean eight = at <= to - 8 && (window.getLong(at) & HIGH) == 0;
        at += eight ? 8 : 1;
        continue;
      }
      int count = lead < -62 ? 0 : lead < -32 ? 2 : lead < -16 ? 3 : 0;
      if (count == 0 || count > to - at || (window.get(at + 1) & 0xc0) != 0x80) {
        return at;
      }
      if (count == 3) {
        int code = (lead & 15) << 6 | window.get(at + 1) & 63; // the upper 10 bits of 16
        if (code < 32 || code >= 0x360 && code < 0x380 || (window.get(at + 2) & 0xc0) != 0x80) {
          return at;
        }
      }
      at += count;
    }
    return at;
  }

  /** No code point is one of the forbidden; of text that is not UTF-8, no byte below 0x80 is. */
  static boolean isPrintable(Bytes bytes, long at, long length) {
    boolean utf8 = isUtf8(bytes, at, length);
    long end = at + length;
    while (at < end) {
      int code = utf8 ? decode(bytes, at, end) : bytes.u8(at);
      at += utf8 ? width(code) : 1;
      if ((utf8 || code < 0x80) && isForbidden(code)) {
        return false;
      }
    }
    return true;
  }

  /** Words joined by single separators, or nothing. */
  static boolean isDotted(Bytes bytes, long at, long length) {
    boolean inWord = length == 0;
    for (long end = at + length; at < end; at++) {
      char c = (char) bytes.u8(at);
      if (Container.WORD.indexOf(c) >= 0) {
        inWord = true;
      } else if (c == Container.SEPARATOR && inWord) {
        inWord = false;
      } else {
        return false;
      }
    }
    return inWord;
  }

  /**
   * A name, reversibly: each byte that is no UTF-8 becomes the lone surrogate U+DC00 + byte, as
   * Python's {@code surrogateescape} has it.
   */
  static String name(byte[] raw) {
    int ascii = 0;
    while (ascii < raw.length && raw[ascii] >= 0) {
      ascii++;
    }
    if (ascii == raw.length) {
      return new String(raw, StandardCharsets.ISO_8859_1);
    }
    Bytes bytes = Bytes.wrap(raw);
    if (isUtf8(bytes, 0, raw.length)) {
      return new String(raw, StandardCharsets.UTF_8);
    }
    StringBuilder text = new StringBuilder(raw.length);
    for (int at = 0; at < raw.length;) {
      int code = decode(bytes, at, raw.length);
      if (code < 0) {
        text.append((char) (ESCAPE + (raw[at] & 0xff)));
        at++;
      } else {
        text.appendCodePoint(code);
        at += width(code);
      }
    }
    return text.toString();
  }

  /** The bytes of a name; IllegalArgumentException for a surrogate that stands for no byte. */
  static byte[] nameBytes(String name) {
    if (name.codePoints().noneMatch(code -> code >= 0xd800 && code < 0xe000)) {
      return name.getBytes(StandardCharsets.UTF_8);
    }
    ByteArrayOutputStream raw = new ByteArrayOutputStream();
    name.codePoints().forEach(code -> {
      if (code >= ESCAPE + 0x80 && code <= ESCAPE + 0xff) {
        raw.write(code - ESCAPE);
      } else if (code >= 0xd800 && code < 0xe000) {
        throw new IllegalArgumentException(
            "the name " + quoted(name) + " holds a surrogate that stands for no byte");
      } else {
        raw.writeBytes(Character.toString(code).getBytes(StandardCharsets.UTF_8));
      }
    });
    return raw.toByteArray();
  }

  /** The bytes of a text; IllegalArgumentException for lone surrogates, which UTF-8 lacks. */
  static byte[] textBytes(String text) {
    if (text.codePoints().anyMatch(code -> code >= 0xd800 && code < 0xe000)) {
      throw new IllegalArgumentException(quoted(text) + " holds a lone surrogate");
    }
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** A name for people: quoted, escaped and not too long. */
  static String quoted(String name) {
    StringBuilder text = new StringBuilder("'");
    int[] codes = name.codePoints().limit(60).toArray();
    for (int code : codes) {
      if (code == '\'' || code == '\\') {
        text.append('\\').appendCodePoint(code);
      } else if (code < 32 || code >= 127 && code < 160 || isForbidden(code)
          || code >= 0xd800 && code < 0xe000) {
        text.append(String.format("\\u%04x", code));
      } else {
        text.appendCodePoint(code);
      }
    }
    boolean whole = name.codePointCount(0, name.length()) == codes.length;
    return text.append(whole ? "'" : "'...").toString();
  }

  /** The code point of the well-formed sequence at a byte, or -1. */
  private static int decode(Bytes bytes, long at, long end) {
    int lead = bytes.u8(at);
    if (lead < 0x80) {
      return lead;
    }
    int count = lead < 0xc0 || lead > 0xf7 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (count == 0 || count > end - at) {
      return -1;
    }
    int code = lead & 0x7f >> count;
    for (int i = 1; i < count; i++) {
      int next = bytes.u8(at + i);
      if ((next & 0xc0) != 0x80) {
        return -1;
      }
      code = code << 6 | next & 0x3f;
    }
    boolean wrong = code < SMALLEST[count] || code > 0x10ffff || code >= 0xd800 && code < 0xe000;
    return wrong ? -1 : code;
  }

  private static int width(int code) {
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }

  private static boolean isForbidden(int code) {
    for (int[] range : Container.FORBIDDEN) {
      if (range[0] <= code && code <= range[1]) {
        return true;
      }
    }
    return false;
  }
}
