package ggufspec;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The walk through the records of a file, and the error nearest to its start.
 *
 * <p>It knows bytes, bounds and buffers; fields, widths, ids, order, limits and severities come from
 * {@link Container}. It never recurses, reads nothing beyond the end, computes no sum or product
 * that could wrap, and keeps memory only for records that were read.
 */
final class Walk {
  static final long UNKNOWN = -1;
  private static final int SHORT = 127; // bytes: the longest string whose length is ASCII
  private static final int RUN = 1 << 16; // bytes of strings that are tested as one text

  final Bytes bytes;
  final Profile profile;
  final long size;
  long at;
  boolean big;
  Layout layout = Container.LAYOUTS[0];
  long[] header;
  Rows keys;
  Rows tensors;
  Map<String, Integer> keyOf = new LinkedHashMap<>();
  Map<String, Integer> tensorOf = new LinkedHashMap<>();
  long end;
  long alignment = Container.ALIGNMENT_DEFAULT;
  long dataStart;

  private final int column;
  private int section;
  private int record;
  private int field;
  private final long[] places = new long[Container.MOST_FIELDS];

  private long badCount; // strings that are not UTF-8, and the first of them
  private long firstBad;

  private boolean broken;
  private int leastRule;
  private int leastSection;
  private int leastRecord;
  private int leastField;
  private long leastOffset;
  private long leastFirst;
  private long leastSecond;

  /** Records as rows of numbers, one behind the other. */
  static final class Rows {
    final int columns;
    int count;
    long[] numbers;

    Rows(int columns) {
      this.columns = columns;
      numbers = new long[16 * columns];
    }

    /** The place of a row, whose room is made. */
    int open(int row) {
      if (row >= (Integer.MAX_VALUE - 8) / columns) {
        throw GgufException.of(Container.COUNT_FITS, -1, "", "subject", "the file", "count",
            "more than " + row, "most", row);
      }
      int place = row * columns;
      if (place + columns > numbers.length) {
        int grown = (int) Math.min(2L * numbers.length, Integer.MAX_VALUE - 8);
        numbers = java.util.Arrays.copyOf(numbers, Math.max(grown, place + columns));
      }
      return place;
    }

    long get(int row, int column) {
      return numbers[row * columns + column];
    }
  }

  Walk(Bytes bytes, Profile profile) {
    this.bytes = bytes;
    this.profile = profile;
    this.size = bytes.size;
    this.column = profile.ordinal();
    keys = new Rows(Container.COLUMNS[Container.METADATA]);
    tensors = new Rows(Container.COLUMNS[Container.TENSORS]);
  }

  /** Reads and checks everything; GgufException with the first error. */
  Walk run() {
    int whole = readAll();
    keyOf = names(Container.METADATA, keys, Container.KEY, whole > Container.METADATA);
    tensorOf = names(Container.TENSORS, tensors, Container.NAME, whole > Container.TENSORS);
    dataStart = end;
    if (whole > Container.METADATA) {
      Alignment found = Alignment.of(this);
      alignment = found.good() ? found.value() : alignment;
      if (whole > Container.TENSORS) {
        checkPresent();
        if (tensors.count > 0) {
          dataStart = Data.padUp(end, alignment);
        }
        if (found.good()) {
          new Data(this).check();
        }
      }
    }
    if (broken) {
      throw error();
    }
    return this;
  }

  /** How many sections were read to their end. */
  private int readAll() {
    Rows head = new Rows(Container.COLUMNS[Container.HEADER]);
    boolean done = readRecords(Container.HEADER, 1, head);
    header = head.numbers;
    end = at;
    int whole = done ? 1 : 0;
    for (int next = Container.METADATA; done && next <= Container.TENSORS; next++) {
      int counting = countingField(next);
      long count = header[layout.sections()[Container.HEADER][counting].column()];
      long most = (size - at) / layout.smallestRecords()[next];
      if (Long.compareUnsigned(count, most) > 0) {
        section = Container.HEADER;
        record = 0;
        field = counting;
        report(Container.COUNT_FITS, placeOf(Container.HEADER, header, 0, counting), count, most);
        break;
      }
      done = readRecords(next, count, next == Container.METADATA ? keys : tensors);
      whole += done ? 1 : 0;
    }
    return whole;
  }

  private int countingField(int counted) {
    Field[] fields = layout.sections()[Container.HEADER];
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].counts() == counted) {
        return i;
      }
    }
    throw new IllegalStateException("nothing counts the records of section " + counted);
  }

  /** The byte of a field of a record that was read whole. */
  long placeOf(int section, long[] row, int start, int wanted) {
    long place = row[start];
    Field[] fields = layout.sections()[section];
    for (int i = 0; i < wanted; i++) {
      Field field = fields[i];
      int from = start + field.column();
      switch (field.kind()) {
        case STRING -> place = row[from] + row[from + 1];
        case VALUE -> place = row[from + field.columns() - 1];
        default -> place += field.width() * (field.repeat() < 0 ? 1 : row[start + field.repeat()]);
      }
    }
    return place;
  }

  int fieldNamed(int section, String name) {
    Field[] fields = layout.sections()[section];
    for (int i = 0; i < fields.length; i++) {
      if (fields[i].name().equals(name)) {
        return i;
      }
    }
    throw new IllegalStateException("no field " + name);
  }

  // ---- findings

  boolean asked(int rule) {
    return Container.RULES[rule].errors()[column];
  }

  long limit(int rule) {
    return Container.RULES[rule].limits()[column];
  }

  void report(int rule, long offset, long first, long second) {
    reportAt(rule, section, record, field, offset, first, second);
  }

  /** Keeps the error with the least offset, rule and record. */
  void reportAt(int rule, int section, int record, int field, long offset, long first, long second) {
    if (!asked(rule)) {
      return;
    }
    if (broken) {
      int order = Long.compare(offset, leastOffset);
      order = order != 0 ? order : Integer.compare(rule, leastRule);
      order = order != 0 ? order : Integer.compare(record, leastRecord);
      if (order >= 0) {
        return;
      }
    }
    broken = true;
    leastRule = rule;
    leastSection = section;
    leastRecord = record;
    leastField = field;
    leastOffset = offset;
    leastFirst = first;
    leastSecond = second;
  }

  private GgufException error() {
    Rule rule = Container.RULES[leastRule];
    String path = leastPath();
    String first = Long.toUnsignedString(leastFirst);
    int type = layout.find(leastFirst);
    return GgufException.of(leastRule, leastOffset, path,
        rule.first(), first,
        rule.second(), Long.toUnsignedString(leastSecond),
        "subject", subject(path),
        "known", Container.LAYOUTS[0].version() + " to "
            + Container.LAYOUTS[Container.LAYOUTS.length - 1].version(),
        "lookalike", leastRule == Container.LITERAL ? lookalike() : "",
        "type", type < 0 ? first : layout.types()[type].name());
  }

  private String leastPath() {
    if (leastSection == Container.DATA) {
      return "data";
    }
    String name = Container.SECTIONS[leastSection];
    if (leastField < 0) {
      return name;
    }
    String which = leastSection == Container.HEADER ? "" : "[" + leastRecord + "]";
    return name + which + "." + layout.sections()[leastSection][leastField].name();
  }

  private String subject(String path) {
    boolean key = leastSection == Container.METADATA;
    if (!key && leastSection != Container.TENSORS) {
      return path;
    }
    Rows rows = key ? keys : tensors;
    if (leastRecord >= rows.count) {
      return path;
    }
    int at = key ? Container.KEY : Container.NAME;
    long length = Math.min(rows.get(leastRecord, at + 1), 4096);
    byte[] raw = bytes.read(rows.get(leastRecord, at), (int) length);
    return (key ? "key " : "tensor ") + Text.quoted(Text.name(raw));
  }

  private String lookalike() {
    for (String[] pair : Container.LOOKALIKES) {
      int length = pair[0].length();
      if (length <= size - leastOffset) {
        byte[] start = bytes.read(leastOffset, length);
        if (new String(start, StandardCharsets.ISO_8859_1).equals(pair[0])) {
          return "; it may be " + pair[1];
        }
      }
    }
    return "";
  }

  /** Whether {@code more} (unsigned) can be read; what needs them began at {@code offset}. */
  private boolean fits(long offset, long more) {
    long left = size - at;
    if (Long.compareUnsigned(more, left) <= 0) {
      return true;
    }
    report(Container.FITS, offset, more, left);
    return false;
  }

  private void checkNumber(int[] rules, long offset, long value) {
    for (int rule : rules) {
      if (asked(rule) && Container.RULES[rule].breaks(value, column)) {
        report(rule, offset, value, limit(rule));
      }
    }
  }

  private void checkText(int[] rules, long offset, long start, long length) {
    checkNumber(rules, offset, length);
    for (int rule : rules) {
      if (!asked(rule)) {
        continue;
      }
      boolean good = switch (Container.RULES[rule].check()) {
        case Rule.UTF8 -> Text.isUtf8(bytes, start, length);
        case Rule.PRINTABLE -> Text.isPrintable(bytes, start, length);
        case Rule.DOTTED -> Text.isDotted(bytes, start, length);
        default -> true;
      };
      if (!good) {
        report(rule, offset, 1, 0);
      }
    }
  }

  // ---- records and fields; false when nothing behind them can be found

  private boolean readRecords(int section, long count, Rows rows) {
    this.section = section;
    for (record = 0; record < count; record++) {
      int row = rows.open(record);
      rows.numbers[row] = at;
      // the header's version decides about the fields behind it
      for (field = 0; field < layout.sections()[section].length; field++) {
        places[field] = at;
        if (!readField(layout.sections()[section][field], rows.numbers, row)) {
          end = rows.numbers[row];
          return false;
        }
      }
      if (section == Container.TENSORS) {
        sizeTensor(rows.numbers, row);
      }
      rows.count++;
      end = at;
    }
    return true;
  }

  private boolean readField(Field field, long[] numbers, int row) {
    return switch (field.kind()) {
      case LITERAL -> readLiteral(field);
      case VERSION -> readVersion(field, numbers, row);
      case NUMBER -> readNumbers(field, numbers, row);
      case STRING -> readString(field, numbers, row);
      case VALUE -> readValue(field, numbers, row);
    };
  }

  private boolean readLiteral(Field field) {
    if (!fits(at, field.width())) {
      return false;
    }
    for (int i = 0; i < field.width(); i++) {
      if (bytes.u8(at + i) != field.literal().charAt(i)) {
        report(Container.LITERAL, at, 0, 0);
        return false;
      }
    }
    at += field.width();
    return true;
  }

  /** The version, which also tells the byte order: in the file's own it is a small number. */
  private boolean readVersion(Field field, long[] numbers, int row) {
    long start = at;
    if (!fits(start, field.width())) {
      return false;
    }
    long little = bytes.number(start, field.width(), false);
    long turned = bytes.number(start, field.width(), true);
    big = Long.compareUnsigned(little, Container.VERSION_BELOW) >= 0
        && Long.compareUnsigned(turned, Container.VERSION_BELOW) < 0;
    at += field.width();
    long version = big ? turned : little;
    numbers[row + field.column()] = version;
    Layout known = Layout.of(version);
    if (known == null) {
      report(Container.KNOWN_VERSION, start, version, 0);
      return false;
    }
    layout = known;
    if (big) {
      report(Container.LITTLE_ENDIAN, start, 0, 0);
    }
    checkNumber(field.rules(), start, version);
    return true;
  }

  private boolean readNumbers(Field field, long[] numbers, int row) {
    long times = field.repeat() < 0 ? 1 : numbers[row + field.repeat()];
    if (Long.compareUnsigned(times, field.columns()) > 0) {
      return false; // a rule of the repeating field has said so
    }
    int from = row + field.column();
    for (int i = 0; i < times; i++) {
      long start = at;
      if (!fits(start, field.width())) {
        return false;
      }
      numbers[from + i] = bytes.number(start, field.width(), big);
      at += field.width();
      checkNumber(field.rules(), start, numbers[from + i]);
    }
    for (int i = (int) times; i < field.columns(); i++) {
      numbers[from + i] = 1;
    }
    return true;
  }

  private boolean readString(Field field, long[] numbers, int row) {
    long start = at;
    if (!fits(start, field.width())) {
      return false;
    }
    long length = bytes.number(start, field.width(), big);
    at += field.width();
    if (!fits(start, length)) {
      return false;
    }
    numbers[row + field.column()] = at;
    numbers[row + field.column() + 1] = length;
    checkText(field.rules(), start, at, length);
    at += length;
    return true;
  }

  /** Type, element type, count, first byte, end. */
  private boolean readValue(Field field, long[] numbers, int row) {
    long start = at;
    if (!fits(start, field.width())) {
      return false;
    }
    long id = bytes.number(start, field.width(), big);
    at += field.width();
    int type = knownType(start, id);
    if (type < 0) {
      return false;
    }
    int to = row + field.column();
    numbers[to] = id;
    ValueType.Kind kind = layout.types()[type].kind();
    if (kind == ValueType.Kind.ARRAY) {
      return walkArray(numbers, to + 1);
    }
    numbers[to + 1] = id;
    numbers[to + 2] = 1;
    numbers[to + 3] = at + (kind == ValueType.Kind.STRING ? layout.lengthWidth() : 0);
    if (!walkElements(type, 1)) {
      return false;
    }
    numbers[to + 4] = at;
    return true;
  }

  // ---- values

  private int knownType(long offset, long id) {
    int type = layout.find(id);
    if (type < 0) {
      report(Container.KNOWN_VALUE, offset, id, 0);
    }
    return type;
  }

  private boolean walkElements(int type, long count) {
    return layout.types()[type].kind() == ValueType.Kind.STRING
        ? walkStrings(type, count) : walkScalars(type, count);
  }

  private boolean walkScalars(int type, long count) {
    int width = layout.types()[type].bytes();
    long start = at;
    if (!fits(start, count * width)) { // a count that fits: no product that wraps
      return false;
    }
    at += count * width;
    for (int rule : layout.rules()[type]) {
      if (!asked(rule)) {
        continue;
      }
      for (long place = start; place < at; place += width) {
        long value = bytes.number(place, width, big);
        if (Container.RULES[rule].breaks(value, column)) {
          report(rule, place, value, limit(rule));
          break;
        }
      }
    }
    return true;
  }

  private boolean walkStrings(int type, long count) {
    int width = layout.lengthWidth();
    long least = 0;
    long most = -1; // unsigned: no limit
    int utf8 = -1;
    for (int rule : layout.rules()[type]) {
      if (!asked(rule)) {
        continue;
      }
      long limit = limit(rule);
      switch (Container.RULES[rule].check()) {
        case Rule.UTF8 -> utf8 = rule;
        case Rule.AT_LEAST -> least = Long.compareUnsigned(limit, least) > 0 ? limit : least;
        case Rule.AT_MOST -> most = Long.compareUnsigned(limit, most) < 0 ? limit : most;
        default -> { }
      }
    }
    badCount = 0;
    boolean ordinary = width == 8 && least == 0 && (most < 0 || most >= SHORT);
    for (long left = count; left > 0;) {
      long text = at + width;
      long passed = ordinary ? passShort(left) : 0;
      if (utf8 >= 0 && passed > 0 && !Text.isUtf8(bytes, text, at - text)) {
        findBad(text - width, at);
      }
      left -= passed;
      if (passed == 0) {
        if (!passOne(layout.rules()[type], least, most, utf8 >= 0)) {
          return false;
        }
        left--;
      }
    }
    if (badCount > 0) {
      report(utf8, firstBad, badCount, 0);
    }
    return true;
  }

  /**
   * Goes behind the next strings as long as they are short; how many they are. A length below 128
   * is ASCII itself, so it ends a character that the string before it left unfinished, and strings
   * that were passed here can be tested as one text.
   */
  private long passShort(long most) {
    if (at >= size) {
      return 0;
    }
    ByteBuffer window = bytes.window(at);
    int first = Bytes.place(at);
    int last = window.limit() - 8;
    int stop = (int) Math.min(last, (long) first + RUN);
    int place = first;
    int passed = 0;
    int count = (int) Math.min(most, Integer.MAX_VALUE);
    while (passed < count && place <= stop) {
      long length = window.getLong(place);
      if (big) {
        length = Long.reverseBytes(length);
      }
      if (length < 0 || length > SHORT || length > last - place) {
        break;
      }
      place += 8 + (int) length;
      passed++;
    }
    at += place - first;
    return passed;
  }

  /** Goes behind the next string, whatever it is. */
  private boolean passOne(int[] rules, long least, long most, boolean utf8) {
    int width = layout.lengthWidth();
    long left = size - at - width;
    if (left < 0) {
      report(Container.FITS, at, width, size - at);
      return false;
    }
    long length = bytes.number(at, width, big);
    if (length < 0 || length > left) {
      report(Container.FITS, at, length, left);
      return false;
    }
    if (Long.compareUnsigned(length, least) < 0 || Long.compareUnsigned(length, most) > 0) {
      checkNumber(rules, at, length);
    }
    if (utf8 && !Text.isUtf8(bytes, at + width, length)) {
      bad(at);
    }
    at += width + length;
    return true;
  }

  /** Tests, one by one, the strings whose lengths stand between two places. */
  private void findBad(long from, long to) {
    int width = layout.lengthWidth();
    while (from < to) {
      long length = bytes.number(from, width, big);
      if (!Text.isUtf8(bytes, from + width, length)) {
        bad(from);
      }
      from += width + length;
    }
  }

  private void bad(long offset) {
    firstBad = badCount == 0 ? offset : firstBad;
    badCount++;
  }

  /** The element type of the array that starts here, or -1; its count goes to {@code counts}. */
  private int readHead(long[] counts, int to) {
    long start = at;
    int first = layout.countFirst() ? layout.countWidth() : layout.idWidth();
    if (!fits(start, first)) {
      return -1;
    }
    at += first;
    if (!fits(at, layout.headWidth() - first)) {
      return -1;
    }
    at = start + layout.headWidth();
    long idAt = start + layout.idPlace();
    long countAt = start + layout.countPlace();
    int type = knownType(idAt, bytes.number(idAt, layout.idWidth(), big));
    if (type < 0) {
      return -1;
    }
    long count = bytes.number(countAt, layout.countWidth(), big);
    checkNumber(Container.COUNT_RULES, countAt, count);
    long room = (size - at) / layout.smallest()[type];
    if (Long.compareUnsigned(count, room) > 0) {
      report(Container.COUNT_FITS, countAt, count, room);
      return -1;
    }
    counts[to] = count;
    return type;
  }

  /** A rule about depth fires at the first array that is too deep. */
  private void checkDepth(long offset, long depth) {
    for (int rule : Container.DEPTH_RULES) {
      if (asked(rule) && depth == limit(rule) + 1) {
        report(rule, offset, depth, limit(rule));
      }
    }
  }

  /** One array with all that is in it; to the row go element type, count, first byte, end. */
  private boolean walkArray(long[] numbers, int to) {
    long[] left = new long[Container.DEEPEST];
    long[] count = new long[1];
    int depth = 0;
    int deepest = 0;
    long start = at;
    int type = readHead(count, 0);
    if (type < 0) {
      return false;
    }
    numbers[to] = layout.types()[type].id();
    numbers[to + 1] = count[0];
    numbers[to + 2] = at;
    while (true) {
      if (layout.types()[type].kind() != ValueType.Kind.ARRAY) {
        if (!walkElements(type, count[0])) {
          return false;
        }
      } else {
        if (depth == deepest) {
          checkDepth(start, ++deepest);
        }
        if (depth == Container.DEEPEST) {
          return false;
        }
        left[depth++] = count[0];
      }
      while (depth > 0 && left[depth - 1] == 0) {
        depth--;
      }
      if (depth == 0) {
        numbers[to + 3] = at;
        return true;
      }
      left[depth - 1]--;
      start = at;
      type = readHead(count, 0);
      if (type < 0) {
        return false;
      }
    }
  }

  // ---- tensors

  private void reportTensor(int rule, int column, long first, long second) {
    Field[] fields = layout.sections()[Container.TENSORS];
    field = 0;
    while (fields[field].column() != column) {
      field++;
    }
    report(rule, places[field], first, second);
  }

  private void sizeTensor(long[] numbers, int row) {
    int dims = row + Container.DIMS;
    long most = limit(Container.ELEMENTS);
    long elements = countElements(numbers, dims, most);
    long smallest = numbers[dims];
    long largest = smallest;
    for (int i = 1; i < Container.MOST_DIMS; i++) {
      long dim = numbers[dims + i];
      smallest = Long.compareUnsigned(dim, smallest) < 0 ? dim : smallest;
      largest = Long.compareUnsigned(dim, largest) > 0 ? dim : largest;
    }
    if (elements == 0 && Long.compareUnsigned(largest, most) <= 0) {
      reportTensor(Container.ELEMENTS, Container.DIMS, 0, most); // a larger one has its own rule
    }
    numbers[row + Container.NBYTES] = UNKNOWN;
    long id = numbers[row + Container.TYPE];
    TensorType type = Types.known(id);
    if (type == null || type.elements() == 0) {
      int rule = type == null ? Container.KNOWN_TYPE : Container.LIVE_TYPE;
      reportTensor(rule, Container.TYPE, id, 0);
      return;
    }
    if (Long.remainderUnsigned(numbers[dims], type.elements()) != 0) {
      reportTensor(Container.WHOLE_ROWS, Container.DIMS, numbers[dims], type.elements());
      return;
    }
    if (elements == 0) {
      return;
    }
    if (smallest == 0) {
      numbers[row + Container.NBYTES] = 0;
      return;
    }
    most = limit(Container.BYTES);
    long size = countBytes(type, numbers[dims], elements, most);
    numbers[row + Container.NBYTES] = size;
    if (size == UNKNOWN) {
      reportTensor(Container.BYTES, Container.DIMS, 0, most);
    }
  }

  /**
   * The product of the dimensions but zero, which hides no overflow of the others; 0 when it is out
   * of range. The test is the one that ggml asserts, a little stricter than the product.
   */
  private static long countElements(long[] numbers, int dims, long most) {
    long elements = numbers[dims] == 0 ? 1 : numbers[dims];
    if (Long.compareUnsigned(elements, most) > 0) {
      return 0;
    }
    for (int i = 1; i < Container.MOST_DIMS; i++) {
      long dim = numbers[dims + i];
      if (dim != 0 && dim != 1) {
        if (Long.compareUnsigned(Long.divideUnsigned(most, dim), elements) <= 0) {
          return 0;
        }
        elements *= dim;
      }
    }
    return elements;
  }

  /** Bytes of a tensor; UNKNOWN above {@code most}. Each step stays at or below it. */
  private static long countBytes(TensorType type, long row, long elements, long most) {
    long bytes = Numbers.product(Long.divideUnsigned(row, type.elements()), type.bytes(), most);
    bytes = sum(bytes, type.rowPrefix(), most);
    if (bytes != UNKNOWN) {
      bytes = Numbers.product(bytes, Long.divideUnsigned(elements, row), most);
    }
    return sum(bytes, type.tensorSuffix(), most);
  }

  private static long sum(long a, long b, long most) {
    boolean above = a == UNKNOWN || Long.compareUnsigned(b, most - a) > 0;
    return above ? UNKNOWN : a + b;
  }

  // ---- names and keys

  /**
   * Record by name, the last where one stands twice. Java's maps order what collides (a name is
   * comparable), so collisions that a file makes cost a logarithm.
   */
  private Map<String, Integer> names(int section, Rows rows, int column, boolean whole) {
    Map<String, Integer> found = new LinkedHashMap<>(Math.max(16, 2 * rows.count));
    int unique = section == Container.METADATA ? Container.KEY_UNIQUE : Container.NAME_UNIQUE;
    int number = rows.count == 0 ? 0 : fieldNamed(section, section == Container.METADATA ? "key" : "name");
    for (int record = 0; record < rows.count; record++) {
      long length = rows.get(record, column + 1);
      long start = rows.get(record, column);
      String name = Text.name(bytes.read(start, Numbers.arrayLength(length, start)));
      Integer before = found.put(name, record);
      if (before != null && unique >= 0 && asked(unique)) {
        long first = placeOf(section, rows.numbers, before * rows.columns, number);
        long place = placeOf(section, rows.numbers, record * rows.columns, number);
        reportAt(unique, section, record, number, place, first, 0);
      }
    }
    return found;
  }

  /** Keys that should be there and are not; the place is where one would be appended. */
  private void checkPresent() {
    boolean blocks = false;
    for (int record = 0; record < tensors.count; record++) {
      TensorType type = Types.known(tensors.get(record, Container.TYPE));
      blocks |= type != null && type.elements() > 1;
    }
    long place = tensors.count > 0 ? tensors.get(0, 0) : end;
    for (int rule = 0; rule < Container.RULES.length; rule++) {
      int check = Container.RULES[rule].check();
      boolean due = check == Rule.PRESENT || check == Rule.PRESENT_IF_QUANTIZED && blocks;
      if (due && !keyOf.containsKey(Container.RULES[rule].key())) {
        reportAt(rule, Container.METADATA, keys.count, -1, place, 0, 0);
      }
    }
  }
}
