package ggufspec;

import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The keys and values of a file, in its order; read-only. Values are made when they are asked for.
 *
 * <p>The typed getters throw {@link NoSuchElementException} for a key that is not there and {@link
 * GgufException} for a value of another kind. Bytes of a key that are no UTF-8 appear as lone
 * surrogates (U+DC00 + byte), so that every key can be written again.
 */
public final class Metadata extends NamedRows<Value> {
  private final Layout layout;
  private final boolean big;
  private final Map<Integer, ArrayValue> arrays = new ConcurrentHashMap<>();

  Metadata(Walk walk) {
    super(walk.bytes, walk.keys, walk.keyOf, Container.KEY);
    this.layout = walk.layout;
    this.big = walk.big;
  }

  /** A string. */
  public String getString(String key) {
    return cast(key, Value.OfString.class).text();
  }

  /** An integer; of a UINT64 the bits. */
  public long getLong(String key) {
    return cast(key, Value.OfInteger.class).longValue();
  }

  /** An integer; {@code otherwise} if the key is not there. */
  public long getLong(String key, long otherwise) {
    return containsKey(key) ? getLong(key) : otherwise;
  }

  /** An integer in the range of an int. */
  public int getInt(String key) {
    return cast(key, Value.OfInteger.class).intValue();
  }

  /** An integer in the range of an int; {@code otherwise} if the key is not there. */
  public int getInt(String key, int otherwise) {
    return containsKey(key) ? getInt(key) : otherwise;
  }

  /** A float. */
  public double getDouble(String key) {
    return cast(key, Value.OfFloat.class).doubleValue();
  }

  /** A float, of a FLOAT64 rounded once. */
  public float getFloat(String key) {
    return cast(key, Value.OfFloat.class).floatValue();
  }

  /** A float; {@code otherwise} if the key is not there. */
  public float getFloat(String key, float otherwise) {
    return containsKey(key) ? getFloat(key) : otherwise;
  }

  /** A boolean. */
  public boolean getBoolean(String key) {
    return cast(key, Value.OfBool.class).booleanValue();
  }

  /** A boolean; {@code otherwise} if the key is not there. */
  public boolean getBoolean(String key, boolean otherwise) {
    return containsKey(key) ? getBoolean(key) : otherwise;
  }

  /** An array. */
  public ArrayValue getArray(String key) {
    return cast(key, ArrayValue.class);
  }

  /** An array of strings, decoded when they are asked for. */
  public List<String> getStrings(String key) {
    return getArray(key).strings();
  }

  /**
   * Every pair as the file has it. A profile that allows it may have read a file in which a key
   * stands twice: the map has the last of its values, this list all.
   */
  public List<Entry<String, Value>> pairs() {
    return all();
  }

  private <T extends Value> T cast(String key, Class<T> kind) {
    Value value = get(key);
    if (value == null) {
      throw new NoSuchElementException("no key " + Text.quoted(key));
    }
    if (!kind.isInstance(value)) {
      throw new GgufException("", -1, "metadata", Text.quoted(key) + " is " + value.type(), "");
    }
    return kind.cast(value);
  }

  @Override
  Value made(String key, int row) {
    bytes.checkOpen();
    int from = row * rows.columns + Container.VALUE;
    ValueType type = layout.types()[layout.find(rows.numbers[from])];
    long start = rows.numbers[from + 3];
    long end = rows.numbers[from + 4];
    return switch (type.kind()) {
      case ARRAY -> arrays.computeIfAbsent(row, ignored -> new ArrayValue(bytes, layout, big, type,
          layout.types()[layout.find(rows.numbers[from + 1])], rows.numbers[from + 2], start, end));
      case STRING -> new Value.OfString(type, bytes, start, end - start);
      case FLOAT -> new Value.OfFloat(type, bytes.number(start, type.bytes(), big));
      case BOOL -> new Value.OfBool(type, bytes.number(start, type.bytes(), big));
      default -> new Value.OfInteger(type, Numbers.exact(bytes, start, type, big));
    };
  }
}
