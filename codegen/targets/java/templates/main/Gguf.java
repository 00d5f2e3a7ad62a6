package ggufspec;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An open GGUF file: its keys and values, and the tensors' infos. Values and data are read when they
 * are asked for; any number of threads may do so.
 *
 * <pre>{@code
 * try (Gguf file = Gguf.open(Path.of("model.gguf"))) {
 *     System.out.println(file.metadata().getString("general.architecture"));
 *     float[] values = file.tensor("token_embd.weight").dequantize();
 * }
 * }</pre>
 *
 * <p>A file is mapped into memory. Java lets go of a mapping when nothing refers to it any more, not
 * when {@link #close} is called; buffers that were handed out stay valid. A file that another process
 * cuts while it is mapped gives an {@link InternalError} where the missing bytes are touched.
 */
public final class Gguf implements AutoCloseable {
  /** The version of the specification that this library was made from. */
  public static final String SPEC_VERSION = Container.SPEC_VERSION;

  private final Bytes bytes;
  private final Layout layout;
  private final boolean big;
  private final long alignment;
  private final long dataOffset;
  private final Map<String, Long> header;
  private final Metadata metadata;
  private final Tensors tensors;

  private Gguf(Bytes bytes, Profile profile) {
    Walk walk = new Walk(bytes, profile).run();
    this.bytes = bytes;
    this.layout = walk.layout;
    this.big = walk.big;
    this.alignment = walk.alignment;
    this.dataOffset = walk.dataStart;
    this.header = headerOf(walk);
    this.metadata = new Metadata(walk);
    this.tensors = new Tensors(walk);
  }

  /** Opens a file under the lenient profile; see {@link #open(Path, Profile)}. */
  public static Gguf open(Path path) throws IOException {
    return open(path, Profile.DEFAULT);
  }

  /**
   * Opens a file of any size. GgufException with the first error that the profile sees in it,
   * IOException from the system.
   */
  public static Gguf open(Path path, Profile profile) throws IOException {
    Bytes bytes = Bytes.map(path);
    try {
      return new Gguf(bytes, profile);
    } catch (RuntimeException | Error failure) {
      bytes.close();
      throw failure;
    }
  }

  /** Reads a file that lies in memory, under the lenient profile. The bytes are not copied. */
  public static Gguf parse(byte[] bytes) {
    return parse(bytes, Profile.DEFAULT);
  }

  /** Reads a file that lies in memory. The bytes are not copied. */
  public static Gguf parse(byte[] bytes, Profile profile) {
    return new Gguf(Bytes.wrap(bytes), profile);
  }

  /** Reads a file between a buffer's position and limit, under the lenient profile. */
  public static Gguf parse(ByteBuffer bytes) {
    return parse(bytes, Profile.DEFAULT);
  }

  /** Reads a file between a buffer's position and limit. The bytes are not copied. */
  public static Gguf parse(ByteBuffer bytes, Profile profile) {
    return new Gguf(Bytes.wrap(bytes), profile);
  }

  /** The version of the container. */
  public int version() {
    return layout.version();
  }

  /** The byte order of everything in the file. */
  public ByteOrder byteOrder() {
    return big ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
  }

  /** What the data section and the tensors in it are aligned to, in bytes. */
  public long alignment() {
    return alignment;
  }

  /** Where the data section starts, in bytes from the start of the file. */
  public long dataOffset() {
    return dataOffset;
  }

  /** The bytes of the file. */
  public long size() {
    return bytes.size;
  }

  /** The numbers of the header by their names in the specification. */
  public Map<String, Long> header() {
    return header;
  }

  /** Keys and values in the order of the file. */
  public Metadata metadata() {
    return metadata;
  }

  /** Tensors by name, in the order of the file; read-only. */
  public Map<String, Tensor> tensors() {
    return tensors;
  }

  /**
   * Every tensor in the order of the file. A profile that allows it may have read a file in which a
   * name stands twice: the map has the last of them, this list all.
   */
  public List<Tensor> tensorList() {
    return tensors.all().stream().map(Map.Entry::getValue).toList();
  }

  /** A tensor; NoSuchElementException if there is none of that name. */
  public Tensor tensor(String name) {
    Tensor found = tensors.get(name);
    if (found == null) {
      throw new java.util.NoSuchElementException("no tensor " + Text.quoted(name));
    }
    return found;
  }

  /** Lets go of the file; again is harmless. */
  @Override
  public void close() throws IOException {
    bytes.close();
  }

  private static Map<String, Long> headerOf(Walk walk) {
    Map<String, Long> found = new LinkedHashMap<>();
    for (Field field : walk.layout.sections()[Container.HEADER]) {
      if (field.columns() > 0) {
        found.put(field.name(), walk.header[field.column()]);
      }
    }
    return Collections.unmodifiableMap(found);
  }
}
