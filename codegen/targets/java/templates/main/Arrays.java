package ggufspec;

/** Ways through arrays that a walk has checked: no recursion, whatever they hold. */
final class Arrays {
  private Arrays() {}

  /** What stands in front of the elements: the place of their type in the layout, their number. */
  record Head(int type, long count) {}

  static Head head(Bytes source, Layout layout, boolean big, long at, long end) {
    if (end - at < layout.headWidth()) {
      throw GgufException.changed(at);
    }
    long id = source.number(at + layout.idPlace(), layout.idWidth(), big);
    long count = source.number(at + layout.countPlace(), layout.countWidth(), big);
    int type = layout.find(id);
    long left = end - at - layout.headWidth();
    if (type < 0 || Long.compareUnsigned(count, left / layout.smallest()[type]) > 0) {
      throw GgufException.changed(at);
    }
    return new Head(type, count);
  }

  /** The place behind the strings from {@code at} on. */
  static long skipStrings(Bytes source, Layout layout, boolean big, long at, long end, long count) {
    int width = layout.lengthWidth();
    for (long i = 0; i < count; i++) {
      if (end - at < width) {
        throw GgufException.changed(at);
      }
      long length = source.number(at, width, big);
      if (Long.compareUnsigned(length, end - at - width) > 0) {
        throw GgufException.changed(at);
      }
      at += width + length;
    }
    return at;
  }

  /** The place behind the array whose head stands at {@code at}. */
  static long skip(Bytes source, Layout layout, boolean big, long at, long end) {
    long[] left = new long[Container.DEEPEST];
    int depth = 0;
    do {
      if (depth > 0) {
        left[depth - 1]--;
      }
      Head head = head(source, layout, big, at, end);
      ValueType type = layout.types()[head.type()];
      at += layout.headWidth();
      if (type.kind() == ValueType.Kind.ARRAY) {
        if (depth == Container.DEEPEST) {
          throw GgufException.changed(at);
        }
        left[depth++] = head.count();
      } else if (type.kind() == ValueType.Kind.STRING) {
        at = skipStrings(source, layout, big, at, end, head.count());
      } else {
        at += head.count() * type.bytes();
      }
      while (depth > 0 && left[depth - 1] == 0) {
        depth--;
      }
    } while (depth > 0);
    return at;
  }
}
