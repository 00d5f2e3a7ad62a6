package ggufspec;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Read-only bytes of any length: a buffer, or a file that is mapped in windows.
 *
 * <p>A window begins at every GiB and is as long as a buffer can be, so each number, and each run of
 * up to a GiB, lies whole in the window that its first byte is looked up in.
 */
final class Bytes implements AutoCloseable {
  static final int SHIFT = 30;
  private static final int MASK = (1 << SHIFT) - 1;
  private static final ByteBuffer[] CLOSED = {};

  final long size;
  private final FileChannel channel;
  private ByteBuffer[] windows;

  private Bytes(long size, FileChannel channel, ByteBuffer[] windows) {
    this.size = size;
    this.channel = channel;
    this.windows = windows;
  }

  /** A file; IOException for what is no regular file, which might block or never end. */
  static Bytes map(Path path) throws IOException {
    if (!Files.isRegularFile(path)) {
      Files.size(path); // says what is missing
      throw new IOException(path + " is not a regular file");
    }
    FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
    try {
      long size = channel.size();
      ByteBuffer[] windows = new ByteBuffer[(int) (size + MASK >>> SHIFT)];
      for (int i = 0; i < windows.length; i++) {
        long start = (long) i << SHIFT;
        long length = Math.min(size - start, Integer.MAX_VALUE);
        windows[i] = channel.map(FileChannel.MapMode.READ_ONLY, start, length)
            .order(ByteOrder.LITTLE_ENDIAN);
      }
      return new Bytes(size, channel, windows);
    } catch (IOException | RuntimeException | Error failure) {
      channel.close();
      throw failure;
    }
  }

  /** The bytes between a buffer's position and limit; they are not copied. */
  static Bytes wrap(ByteBuffer buffer) {
    ByteBuffer whole = buffer.slice().order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer[] windows = new ByteBuffer[(int) ((long) whole.limit() + MASK >>> SHIFT)];
    for (int i = 0; i < windows.length; i++) {
      int start = i << SHIFT;
      windows[i] = whole.slice(start, whole.limit() - start).order(ByteOrder.LITTLE_ENDIAN);
    }
    return new Bytes(whole.limit(), null, windows);
  }

  static Bytes wrap(byte[] bytes) {
    return wrap(ByteBuffer.wrap(bytes));
  }

  /** IllegalStateException after {@link #close}. */
  void checkOpen() {
    if (windows == CLOSED) {
      throw new IllegalStateException("the file is closed");
    }
  }

  /** The window that a byte is in; it goes on for at least a GiB or to the end. */
  ByteBuffer window(long at) {
    return windows[(int) (at >>> SHIFT)];
  }

  static int place(long at) {
    return (int) at & MASK;
  }

  int u8(long at) {
    return window(at).get(place(at)) & 0xff;
  }

  /** An unsigned number; the lower 64 bits of a wider one. */
  long number(long at, int width, boolean big) {
    switch (width) {
      case 8: {
        long value = window(at).getLong(place(at));
        return big ? Long.reverseBytes(value) : value;
      }
      case 4: {
        int value = window(at).getInt(place(at));
        return (big ? Integer.reverseBytes(value) : value) & 0xffffffffL;
      }
      case 2: {
        short value = window(at).getShort(place(at));
        return (big ? Short.reverseBytes(value) : value) & 0xffffL;
      }
      case 1:
        return u8(at);
      default: {
        long value = 0;
        for (int i = 0; i < width; i++) {
          value = value << 8 | u8(big ? at + i : at + width - 1 - i);
        }
        return value;
      }
    }
  }

  /** Copies bytes out. */
  void read(long at, byte[] target, int from, int count) {
    while (count > 0) {
      int step = Math.min(count, 1 << SHIFT);
      window(at).get(place(at), target, from, step);
      at += step;
      from += step;
      count -= step;
    }
  }

  byte[] read(long at, int count) {
    byte[] copy = new byte[count];
    read(at, copy, 0, count);
    return copy;
  }

  /** A read-only view; where no window holds all of it the file is mapped once more. */
  ByteBuffer slice(long at, int count) {
    if (count == 0) {
      return ByteBuffer.allocate(0).asReadOnlyBuffer();
    }
    ByteBuffer window = window(at);
    if (count <= window.limit() - place(at)) {
      return window.slice(place(at), count).asReadOnlyBuffer();
    }
    try {
      return channel.map(FileChannel.MapMode.READ_ONLY, at, count);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  @Override
  public void close() throws IOException {
    windows = CLOSED;
    if (channel != null) {
      channel.close();
    }
  }
}
