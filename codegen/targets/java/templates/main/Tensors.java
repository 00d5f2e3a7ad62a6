package ggufspec;

import java.util.AbstractList;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/** Tensors by name, made when they are asked for. */
final class Tensors extends AbstractMap<String, Tensor> {
  private final Bytes bytes;
  private final Layout layout;
  private final boolean big;
  private final long dataOffset;
  private final Walk.Rows rows;
  private final Map<String, Integer> places;
  private long[] reaches;

  Tensors(Walk walk) {
    this.bytes = walk.bytes;
    this.layout = walk.layout;
    this.big = walk.big;
    this.dataOffset = walk.dataStart;
    this.rows = walk.tensors;
    this.places = walk.tensorOf;
  }

  @Override
  public Tensor get(Object name) {
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
  public Set<Entry<String, Tensor>> entrySet() {
    return new AbstractSet<>() {
      @Override
      public int size() {
        return places.size();
      }

      @Override
      public Iterator<Entry<String, Tensor>> iterator() {
        Iterator<Entry<String, Integer>> inner = places.entrySet().iterator();
        return new Iterator<>() {
          @Override
          public boolean hasNext() {
            return inner.hasNext();
          }

          @Override
          public Entry<String, Tensor> next() {
            Entry<String, Integer> place = inner.next();
            return Map.entry(place.getKey(), made(place.getKey(), place.getValue()));
          }
        };
      }
    };
  }

  /** All of them, in the order of the file, those with the same name too. */
  List<Tensor> list() {
    return new AbstractList<>() {
      @Override
      public int size() {
        return rows.count;
      }

      @Override
      public Tensor get(int row) {
        java.util.Objects.checkIndex(row, rows.count);
        long start = rows.get(row, Container.NAME);
        int length = Numbers.arrayLength(rows.get(row, Container.NAME + 1), start);
        return made(Text.name(bytes.read(start, length)), row);
      }
    };
  }

  private Tensor made(String name, int row) {
    int rank = (int) rows.get(row, Container.RANK);
    int from = row * rows.columns + Container.DIMS;
    long[] dims = Arrays.copyOfRange(rows.numbers, from, from + rank);
    long size = rows.get(row, Container.NBYTES);
    boolean sized = size != Walk.UNKNOWN;
    Map<String, Long> extra = new LinkedHashMap<>();
    for (Field field : layout.sections()[Container.TENSORS]) {
      if (!Container.TENSOR_FIELDS.contains(field.name())) {
        extra.put(field.name(), rows.get(row, field.column()));
      }
    }
    return new Tensor(bytes, big, name, rows.get(row, Container.TYPE), dims,
        rows.get(row, Container.OFFSET), dataOffset, sized ? size : reaches()[row], sized,
        Collections.unmodifiableMap(extra));
  }

  /** How many bytes each tensor has until the next one, or the end of the file. */
  private synchronized long[] reaches() {
    if (reaches == null) {
      Integer[] order = IntStream.range(0, rows.count).boxed().sorted((a, b) -> Long.compareUnsigned(
          rows.get(a, Container.OFFSET), rows.get(b, Container.OFFSET))).toArray(Integer[]::new);
      reaches = new long[rows.count];
      long end = Math.max(0, bytes.size - dataOffset);
      for (int i = order.length - 1; i >= 0; i--) {
        long offset = rows.get(order[i], Container.OFFSET);
        boolean inside = Long.compareUnsigned(offset, end) < 0;
        reaches[order[i]] = inside ? end - offset : 0;
        if (inside && rows.get(order[i], Container.NBYTES) != 0) { // an empty one bounds nothing
          end = offset;
        }
      }
    }
    return reaches;
  }
}
