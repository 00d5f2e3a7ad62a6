package ggufspec;

import java.util.stream.IntStream;

/**
 * Where tensors lie in the data section: alignment, order, gaps, overlaps, padding.
 *
 * <p>Offsets and alignment are unsigned and sums of them may pass 64 bits; what passes them is kept
 * as a flag beside the number.
 */
final class Data {
  private static final long FAR = Long.MAX_VALUE;

  private final Walk walk;
  private final long alignment;
  private final long room;
  private final int count;
  private final long[] offsets;
  private final long[] sizes;

  Data(Walk walk) {
    this.walk = walk;
    this.alignment = walk.alignment;
    this.room = walk.size - walk.dataStart;
    this.count = walk.tensors.count;
    this.offsets = new long[count];
    this.sizes = new long[count];
    for (int i = 0; i < count; i++) {
      offsets[i] = walk.tensors.get(i, Container.OFFSET);
      sizes[i] = walk.tensors.get(i, Container.NBYTES);
    }
  }

  /** The next multiple of the alignment; FAR where that is no file's size. */
  static long padUp(long offset, long alignment) {
    long over = Long.remainderUnsigned(offset, alignment);
    long padded = over == 0 ? offset : offset + (alignment - over);
    return offset < 0 || padded < offset ? FAR : padded;
  }

  void check() {
    if (count > 0 && room < 0) {
      report(Container.DATA_START, walk.end, walk.dataStart, walk.size);
      return;
    }
    if (!isTiled()) {
      checkPlaces(checkOverlap(order()));
    }
    if (walk.asked(Container.ZERO_PADDING)) {
      checkPadding();
    }
    if (walk.asked(Container.NO_TAIL)) {
      checkTail();
    }
  }

  private void report(int rule, long offset, long first, long second) {
    walk.reportAt(rule, Container.DATA, 0, -1, offset, first, second);
  }

  private void reportTensor(int rule, int tensor, long first, long second) {
    int field = walk.fieldNamed(Container.TENSORS, "offset");
    Walk.Rows rows = walk.tensors;
    long place = walk.placeOf(Container.TENSORS, rows.numbers, tensor * rows.columns, field);
    walk.reportAt(rule, Container.TENSORS, tensor, field, place, first, second);
  }

  /** Whether all tensors lie in order, without gaps and inside of the file. */
  private boolean isTiled() {
    long expected = 0;
    for (int i = 0; i < count; i++) {
      if (offsets[i] != expected || sizes[i] < 0 || expected > room || sizes[i] > room - expected) {
        return false;
      }
      expected = padUp(expected + sizes[i], alignment);
    }
    return true;
  }

  /** Numbers of the tensors in the order of their data. */
  private int[] order() {
    return IntStream.range(0, count).boxed()
        .sorted((a, b) -> Long.compareUnsigned(offsets[a], offsets[b]))
        .mapToInt(Integer::intValue).toArray();
  }

  private boolean[] checkOverlap(int[] order) {
    boolean[] overlapping = new boolean[count];
    long end = 0;
    boolean beyond = false;
    for (int tensor : order) {
      long offset = offsets[tensor];
      if (sizes[tensor] <= 0) {
        continue;
      }
      if (beyond || Long.compareUnsigned(offset, end) < 0) {
        overlapping[tensor] = true;
        reportTensor(Container.NO_OVERLAP, tensor, offset, end);
      }
      long behind = offset + sizes[tensor];
      beyond |= Long.compareUnsigned(behind, offset) < 0;
      end = Long.compareUnsigned(behind, end) > 0 ? behind : end;
    }
    return overlapping;
  }

  /** Each tensor by itself, and where ggml expects it: behind the padded one before it. */
  private void checkPlaces(boolean[] overlapping) {
    long expected = 0;
    boolean expects = true;
    boolean beyond = false; // the expected place is above 64 bits
    long total = 0;
    boolean huge = false;
    for (int i = 0; i < count; i++) {
      long offset = offsets[i];
      long size = Math.max(sizes[i], 0);
      long end = offset + size;
      boolean wraps = Long.compareUnsigned(end, offset) < 0;
      if (sizes[i] != 0 && (wraps || Long.compareUnsigned(end, room) > 0)) {
        reportTensor(Container.INSIDE, i, walk.dataStart + end, walk.size);
      }
      if (Long.remainderUnsigned(offset, alignment) != 0) {
        reportTensor(Container.ALIGNED, i, offset, alignment);
      } else if (expects && !beyond && Long.compareUnsigned(offset, expected) > 0) {
        reportTensor(Container.NO_GAP, i, offset, expected);
      } else if (expects && (beyond || Long.compareUnsigned(offset, expected) < 0)
          && !overlapping[i]) {
        reportTensor(Container.IN_ORDER, i, offset, expected);
      }
      long over = Long.remainderUnsigned(end, alignment);
      expected = over == 0 ? end : end + (alignment - over);
      expects = sizes[i] >= 0;
      beyond = wraps || Long.compareUnsigned(expected, end) < 0;
      over = Long.remainderUnsigned(size, alignment);
      long padded = over == 0 ? size : size + (alignment - over);
      huge |= Long.compareUnsigned(padded, size) < 0;
      total += padded;
      huge |= Long.compareUnsigned(total, padded) < 0;
    }
    long limit = walk.limit(Container.DATA_SIZE);
    if (huge || Long.compareUnsigned(total, limit) > 0) {
      report(Container.DATA_SIZE, walk.dataStart, 0, limit);
    }
  }

  private void checkPadding() {
    checkZero(walk.end, Math.min(padUp(walk.end, alignment), walk.size));
    int[] order = order();
    long end = 0;
    for (int i = 0; i < count; i++) {
      long after = i + 1 < count ? near(offsets[order[i + 1]]) : room;
      long offset = near(offsets[order[i]]);
      long size = sizes[order[i]];
      // a tensor of unknown size may reach the next one
      long behind = size < 0 ? after : size > FAR - offset ? FAR : offset + size;
      end = Math.max(end, behind);
      long last = Math.min(padUp(end, alignment), Math.min(after, room));
      if (end < last) {
        checkZero(walk.dataStart + end, walk.dataStart + last);
      }
    }
  }

  private static long near(long offset) {
    return offset < 0 ? FAR : offset;
  }

  private void checkZero(long from, long to) {
    long other = 0;
    for (long at = from; at < to; at++) {
      other += walk.bytes.u8(at) == Container.PADDING ? 0 : 1;
    }
    if (other > 0) {
      report(Container.ZERO_PADDING, from, other, to - from);
    }
  }

  private void checkTail() {
    long end = 0;
    for (int i = 0; i < count; i++) {
      if (sizes[i] < 0) {
        return;
      }
      long offset = near(offsets[i]);
      end = Math.max(end, sizes[i] > FAR - offset ? FAR : offset + sizes[i]);
    }
    long start = count == 0 ? walk.end : walk.dataStart;
    end = end > FAR - start ? FAR : padUp(start + end, alignment);
    if (end < walk.size) {
      report(Container.NO_TAIL, end, walk.size - end, 0);
    }
  }
}
