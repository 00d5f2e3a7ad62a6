package ggufspec;

import java.util.AbstractList;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Records of a section by name, each made when it is asked for; read-only. */
abstract class NamedRows<V> extends AbstractMap<String, V> {
  final Bytes bytes;
  final Walk.Rows rows;
  private final Map<String, Integer> places;
  private final int nameColumn;

  NamedRows(Bytes bytes, Walk.Rows rows, Map<String, Integer> places, int nameColumn) {
    this.bytes = bytes;
    this.rows = rows;
    this.places = places;
    this.nameColumn = nameColumn;
  }

  /** What a record holds. */
  abstract V made(String name, int row);

  /** Every record in the order of the file, those with the same name too. */
  final List<Entry<String, V>> all() {
    return new AbstractList<>() {
      @Override
      public int size() {
        return rows.count;
      }

      @Override
      public Entry<String, V> get(int row) {
        Objects.checkIndex(row, rows.count);
        long start = rows.get(row, nameColumn);
        int length = Numbers.arrayLength(rows.get(row, nameColumn + 1), start);
        String name = Text.name(bytes.read(start, length));
        return Map.entry(name, made(name, row));
      }
    };
  }

  @Override
  public V get(Object name) {
    Integer row = places.get(name);
    return row == null ? null : made((String) name, row);
  }

  @Override
  public boolean containsKey(Object name) {
    return places.containsKey(name);
  }

  @Override
  public int size() {
    return places.size();
  }

  @Override
  public Set<String> keySet() {
    return Collections.unmodifiableSet(places.keySet());
  }

  @Override
  public Set<Entry<String, V>> entrySet() {
    return new AbstractSet<>() {
      @Override
      public int size() {
        return places.size();
      }

      @Override
      public Iterator<Entry<String, V>> iterator() {
        Iterator<Entry<String, Integer>> inner = places.entrySet().iterator();
        return new Iterator<>() {
          @Override
          public boolean hasNext() {
            return inner.hasNext();
          }

          @Override
          public Entry<String, V> next() {
            Entry<String, Integer> place = inner.next();
            return Map.entry(place.getKey(), made(place.getKey(), place.getValue()));
          }
        };
      }
    };
  }
}
