package ggufspec;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A file from values and tensors: counts, lengths, offsets and padding are computed.
 *
 * <p>IllegalArgumentException, naming key or tensor, for what cannot be stored.
 *
 * <pre>{@code
 * new Writer()
 *         .put("general.architecture", Value.of("llama"))
 *         .tensor("output.weight", new float[] {1, 2, 3, 4}, 2, 2)
 *         .write(Path.of("new.gguf"));
 * }</pre>
 */
public final class Writer {
  private static final int PIECE = 1 << 20;

  private final Map<String, Value> metadata = new LinkedHashMap<>();
  private final Map<String, Item> tensors = new LinkedHashMap<>();
  private Map<String, Long> header = Map.of();
  private int version = Container.CURRENT;
  private boolean big;
  private long alignment;

  /** A tensor to come. {@code data} is null for one of an open file. */
  private record Item(long type, long[] dims, long bytes, Map<String, Long> extra, ByteBuffer data,
      Tensor source) {}

  /** A writer of version 3, little-endian, with the alignment of general.alignment, else 32. */
  public Writer() {}

  /** A writer that has version, byte order, keys and tensors of a file. */
  public static Writer copyOf(Gguf file) {
    Writer writer = new Writer().version(file.version()).byteOrder(file.byteOrder());
    writer.header = file.header();
    writer.metadata.putAll(file.metadata());
    file.tensors().values().forEach(writer::tensor);
    return writer;
  }

  /** The version of the container. */
  public Writer version(int version) {
    if (Layout.of(version) == null) {
      throw new IllegalArgumentException("version " + version + " is not known");
    }
    this.version = version;
    return this;
  }

  /** The byte order of everything, the tensors' data included. */
  public Writer byteOrder(ByteOrder order) {
    this.big = order == ByteOrder.BIG_ENDIAN;
    return this;
  }

  /** The alignment; the key is added where it is needed. */
  public Writer alignment(long alignment) {
    this.alignment = checked(alignment);
    return this;
  }

  /** Sets a key. */
  public Writer put(String key, Value value) {
    if (key.isEmpty()) {
      throw new IllegalArgumentException("a key is empty");
    }
    metadata.put(key, value);
    return this;
  }

  /** Takes a key out again. */
  public Writer remove(String key) {
    metadata.remove(key);
    return this;
  }

  /** Adds a tensor of an open file, which must be open still when this is written. */
  public Writer tensor(Tensor tensor) {
    return add(tensor.name(), new Item(
        tensor.typeId(), tensor.dims(), tensor.nbytes(), tensor.extra(), null, tensor));
  }

  /** Adds a tensor of little-endian blocks; {@code shape} with rows last. */
  public Writer tensor(String name, TensorType type, ByteBuffer data, long... shape) {
    if (type.id().isEmpty()) {
      throw new IllegalArgumentException("tensor " + name + ": " + type + " has no number of ggml's");
    }
    long bytes = type.tensorBytes(shape);
    if (bytes != data.remaining()) {
      throw new IllegalArgumentException("tensor " + name + ": " + type + " of this shape has " + bytes
          + " bytes, not " + data.remaining());
    }
    return add(name, new Item(type.id().getAsInt(), reversed(shape), bytes, Map.of(),
        data.slice().asReadOnlyBuffer(), null));
  }

  /** Adds a tensor of little-endian blocks; {@code shape} with rows last. */
  public Writer tensor(String name, TensorType type, byte[] data, long... shape) {
    return tensor(name, type, ByteBuffer.wrap(data), shape);
  }

  /** Adds a tensor of float32; {@code shape} with rows last. */
  public Writer tensor(String name, float[] values, long... shape) {
    byte[] data = new byte[Math.multiplyExact(4, values.length)];
    for (int i = 0; i < values.length; i++) {
      Numbers.put(data, 4 * i, 4, Float.floatToRawIntBits(values[i]));
    }
    return tensor(name, Types.byName("F32").orElseThrow(), data, shape);
  }

  /** Writes the file; it appears under its name only when it is whole. */
  public void write(Path path) throws IOException {
    Path folder = path.toAbsolutePath().getParent();
    Path made = Files.createTempFile(folder, "." + path.getFileName(), ".part");
    try {
      try (FileChannel channel = FileChannel.open(made, StandardOpenOption.WRITE)) {
        write(channel);
        channel.force(true);
      }
      Files.move(made, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(made);
    }
  }

  /** Writes the file to a stream, which stays open. */
  public void write(OutputStream stream) throws IOException {
    write(Channels.newChannel(stream));
  }

  /** Writes the file to a channel, which stays open. */
  public void write(WritableByteChannel channel) throws IOException {
    Layout layout = Layout.of(version);
    Map<String, Value> keys = new LinkedHashMap<>(metadata);
    long step = alignment(keys);
    Encoder out = new Encoder(layout, big, channel);
    out.record(Container.HEADER, "the header", headerFields(layout, keys.size()));
    for (Map.Entry<String, Value> pair : keys.entrySet()) {
      Map<String, Object> fields = Map.of("key", Text.nameBytes(pair.getKey()), "value", pair.getValue());
      out.record(Container.METADATA, pair.getKey(), fields);
    }
    writeInfos(out, step);
    if (!tensors.isEmpty()) {
      out.padding(step);
    }
    for (Item item : tensors.values()) {
      writeData(out, item);
      out.padding(step);
    }
    out.flush();
  }

  /** The whole file. */
  public byte[] toByteArray() {
    ByteArrayOutputStream stream = new ByteArrayOutputStream();
    try {
      write(stream);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return stream.toByteArray();
  }

  private Writer add(String name, Item item) {
    byte[] raw = Text.nameBytes(name);
    long most = Container.RULES[Container.NAME_AT_MOST].limits()[Profile.DEFAULT.ordinal()];
    if (raw.length > most) {
      throw new IllegalArgumentException("the name " + Text.quoted(name) + " has " + raw.length
          + " bytes, at most " + most + " can be read again");
    }
    if (item.dims.length > Container.MOST_DIMS) {
      throw new IllegalArgumentException("tensor " + Text.quoted(name) + " has " + item.dims.length
          + " dimensions, at most " + Container.MOST_DIMS + " can be stored");
    }
    if (tensors.putIfAbsent(name, item) != null) {
      throw new IllegalArgumentException("two tensors are called " + Text.quoted(name));
    }
    return this;
  }

  private Map<String, Object> headerFields(Layout layout, long keys) {
    Map<String, Object> fields = new LinkedHashMap<>(header);
    for (Field field : layout.sections()[Container.HEADER]) {
      if (field.counts() >= 0) {
        fields.put(field.name(), field.counts() == Container.METADATA ? keys : (long) tensors.size());
      }
    }
    return fields;
  }

  private void writeInfos(Encoder out, long step) throws IOException {
    long offset = 0;
    for (Map.Entry<String, Item> pair : tensors.entrySet()) {
      Item item = pair.getValue();
      Map<String, Object> fields = new LinkedHashMap<>(item.extra);
      fields.put("name", Text.nameBytes(pair.getKey()));
      fields.put("n_dims", (long) item.dims.length);
      fields.put("dims", item.dims);
      fields.put("type", item.type);
      fields.put("offset", offset);
      out.record(Container.TENSORS, pair.getKey(), fields);
      offset = Data.padUp(Math.addExact(offset, item.bytes), step);
    }
  }

  private void writeData(Encoder out, Item item) throws IOException {
    if (item.data != null) {
      TensorType type = Types.known(item.type);
      writeBlocks(out, item, type, big);
      return;
    }
    Tensor tensor = item.source;
    TensorType type = Types.known(item.type);
    boolean turned = tensor.big != big;
    if (turned && (type == null || !tensor.isSized())) {
      throw new IllegalArgumentException("tensor " + Text.quoted(tensor.name()) + ": "
          + tensor.typeName() + ": nobody knows how its bytes change their order");
    }
    if (turned) {
      writeBlocks(out, item, type, true);
      return;
    }
    for (long from = 0; from < item.bytes; from += PIECE) {
      out.bytes(tensor.view(from, (int) Math.min(PIECE, item.bytes - from)));
    }
  }

  /** Row by row, in the other byte order if {@code turned}. */
  private void writeBlocks(Encoder out, Item item, TensorType type, boolean turned) throws IOException {
    if (!turned) {
      out.bytes(item.data.duplicate());
      return;
    }
    Kernel kernel = type.kernel();
    long row = type.rowBytes(item.dims.length == 0 ? 1 : item.dims[0]);
    long body = item.bytes - (item.bytes == 0 ? 0 : type.tensorSuffix());
    for (long at = 0; row > 0 && at < body; at += row) {
      byte[] prefix = piece(item, at, type.rowPrefix());
      kernel.swapPrefix(prefix, 0);
      out.bytes(prefix);
      int step = Math.max(1, PIECE / type.bytes()) * type.bytes();
      for (long from = at + prefix.length; from < at + row; from += step) {
        byte[] blocks = piece(item, from, (int) Math.min(step, at + row - from));
        kernel.swap(blocks, 0, blocks.length / type.bytes());
        out.bytes(blocks);
      }
    }
    byte[] suffix = piece(item, body, (int) (item.bytes - body));
    if (suffix.length > 0) {
      kernel.swapSuffix(suffix, 0);
      out.bytes(suffix);
    }
  }

  private static byte[] piece(Item item, long from, int count) {
    byte[] bytes = new byte[count];
    if (item.data != null) {
      item.data.get((int) from, bytes);
    } else {
      item.source.read(from, bytes, 0, count);
    }
    return bytes;
  }

  /** The alignment; the key is put into {@code keys} where it is needed. */
  private long alignment(Map<String, Value> keys) {
    Value stated = keys.get(Container.ALIGNMENT_KEY);
    if (stated instanceof Value.OfInteger integer) {
      if (integer.value().bitLength() > 62) {
        throw new IllegalArgumentException(Container.ALIGNMENT_KEY + " is " + integer);
      }
      long found = checked(integer.longValue());
      if (alignment != 0 && alignment != found) {
        throw new IllegalArgumentException(
            "alignment " + alignment + " contradicts " + Container.ALIGNMENT_KEY + ", which is " + found);
      }
      return found;
    }
    if (stated != null) {
      throw new IllegalArgumentException(Container.ALIGNMENT_KEY + " is no integer");
    }
    if (alignment == 0 || alignment == Container.ALIGNMENT_DEFAULT) {
      return Container.ALIGNMENT_DEFAULT;
    }
    keys.put(Container.ALIGNMENT_KEY, Value.of(ValueType.UINT32, alignment));
    return alignment;
  }

  private static long checked(long alignment) {
    int profile = Profile.DEFAULT.ordinal();
    long step = Container.RULES[Container.ALIGNMENT_EITHER].limits()[profile];
    long most = Container.RULES[Container.ALIGNMENT_AT_MOST].limits()[profile];
    if (alignment <= 0 || alignment > most || Long.bitCount(alignment) > 1 && alignment % step != 0) {
      throw new IllegalArgumentException("alignment " + alignment
          + " is no power of two or multiple of " + step + " up to " + most);
    }
    return alignment;
  }

  private static long[] reversed(long[] shape) {
    long[] dims = new long[shape.length];
    for (int i = 0; i < shape.length; i++) {
      dims[i] = shape[shape.length - 1 - i];
    }
    return dims;
  }
}
