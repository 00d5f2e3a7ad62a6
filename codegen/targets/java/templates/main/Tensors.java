package ggufspec;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;

/** Tensors by name, made when they are asked for. */
final class Tensors extends NamedRows<Tensor> {
  private final Layout layout;
  private final boolean big;
  private final long dataOffset;
  private long[] reaches;

  Tensors(Walk walk) {
    super(walk.bytes, walk.tensors, walk.tensorOf, Container.NAME);
    this.layout = walk.layout;
    this.big = walk.big;
    this.dataOffset = walk.dataStart;
  }

  @Override
  Tensor made(String name, int row) {
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
