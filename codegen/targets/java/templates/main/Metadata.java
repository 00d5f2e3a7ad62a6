package ggufspec;

import java.util.AbstractList;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The keys and values of a file, in its order; read-only. Values are made when they are asked for.
 *
 * <p>The typed getters throw {@link NoSuchElementException} for a key that is not there and {@link
 * GgufException} for a value of another kind. Bytes of a key that are no UTF-8 appear as lone
 * surrogates (U+DC00 + byte), so that every key can be written again.
 */
public final class Metadata extends AbstractMap<String, Value> {
  private final Bytes bytes;
  private final Layout layout;
  private final boolean big;
  private final Walk.Rows rows;
  private final Map<String, Integer> places;
  private final Map<Integer, ArrayValue> arrays = new ConcurrentHashMap<>();

  Metadata(Walk walk) {
    this.bytes = walk.bytes;
    this.layout = walk.layout;
    this.big = walk.big;
    this.rows = walk.keys;
    this.places = walk.keyOf;
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

  @Override
  public Value get(Object key) {
    Integer row = places.get(key);
    return row == null ? null : value(row);
  }

  @Override
  public boolean containsKey(Object key) {
    return places.containsKey(key);
  }

  @Override
  public int size() {
    return places.size();
  }

  @Override
  public Set<String> keySet() {
    return java.util.Collections.unmodifiableSet(places.keySet());
  }

  @Override
  public Set<Entry<String, Value>> entrySet() {
    return new AbstractSet<>() {
      @Override
      public int size() {
        return places.size();
      }

      @Override
      public Iterator<Entry<String, Value>> iterator() {
        Iterator<Entry<String, Integer>> inner = places.entrySet().iterator();
        return new Iterator<>() {
          @Override
          public boolean hasNext() {
            return inner.hasNext();
          }

          @Override
          public Entry<String, Value> next() {
            Entry<String, Integer> place = inner.next();
            return Map.entry(place.getKey(), value(place.getValue()));
          }
        };
      }
    };
  }

  /**
   * Every pair as the file has it. A profile that allows it may have read a file in which a key
   * stands twice: the map has the last of its values, this list all.
   */
  public List<Entry<String, Value>> pairs() {
    return new AbstractList<>() {
      @Override
      public int size() {
        return rows.count;
      }

      @Override
      public Entry<String, Value> get(int row) {
        java.util.Objects.checkIndex(row, rows.count);
        long start = rows.get(row, Container.KEY);
        int length = Numbers.arrayLength(rows.get(row, Container.KEY + 1), start);
        return Map.entry(Text.name(bytes.read(start, length)), value(row));
      }
    };
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

  private Value value(int row) {
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
