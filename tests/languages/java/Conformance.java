import ggufspec.ArrayValue;
import ggufspec.Codes;
import ggufspec.Dequantizer;
import ggufspec.Gguf;
import ggufspec.GgufException;
import ggufspec.Profile;
import ggufspec.Tensor;
import ggufspec.TensorType;
import ggufspec.Types;
import ggufspec.Value;
import ggufspec.ValueType;
import ggufspec.Writer;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/** Answers the conformance runner's requests: one a line, fields separated by tabs. */
public final class Conformance {
  private static final HexFormat HEX = HexFormat.of();
  private static final int SURROGATE = 0xdc00;

  private final PrintWriter out;

  private Conformance(PrintWriter out) {
    this.out = out;
  }

  /** Runs until the end of the input. */
  public static void main(String[] arguments) throws IOException {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintWriter out = new PrintWriter(new BufferedWriter(
        new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16));
    Conformance program = new Conformance(out);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      program.answer(line.split("\t", -1));
      out.print("end\n");
      out.flush();
    }
  }

  private void answer(String[] request) {
    try {
      switch (request[0]) {
        case "hello" -> say("hello", "java", Gguf.SPEC_VERSION);
        case "types" -> types();
        case "open" -> open(profile(request[1]), Path.of(request[2]));
        case "tensor" -> tensor(profile(request[1]), Path.of(request[2]), name(HEX.parseHex(request[3])));
        case "dequantize" -> dequantize(type(request[1]), request[3], request[2] + request[4]);
        case "unpack" -> unpack(type(request[1]), HEX.parseHex(request[2]));
        case "pack" -> pack(type(request[1]), request[2]);
        case "time" -> time(request);
        case "copy" -> copy(Path.of(request[1]), Path.of(request[2]));
        default -> say("fail", "unknown request " + request[0]);
      }
    } catch (GgufException problem) {
      String offset = problem.offset().isPresent() ? "" + problem.offset().getAsLong() : "-";
      say("error", problem.code(), offset);
    } catch (Exception | Error problem) {
      say("fail", problem.toString().replaceAll("\\s+", " "));
    }
  }

  private void say(String... fields) {
    out.print(String.join("\t", fields));
    out.print('\n');
  }

  private static Profile profile(String name) {
    return Profile.valueOf(name.toUpperCase(Locale.ROOT));
  }

  private static TensorType type(String name) {
    return Types.byName(name).orElseThrow(() -> new IllegalArgumentException("no type " + name));
  }

  private void types() {
    for (TensorType type : Types.all()) {
      String id = type.id().isPresent() ? "" + type.id().getAsInt() : "-";
      String status = type.status().name().toLowerCase(Locale.ROOT);
      say("type", id, type.name(), "" + type.elements(), "" + type.bytes(), status);
    }
  }

  private void open(Profile profile, Path path) throws IOException {
    try (Gguf file = Gguf.open(path, profile)) {
      String order = file.byteOrder() == ByteOrder.BIG_ENDIAN ? "big" : "little";
      say("ok", "" + file.version(), order, Long.toUnsignedString(file.alignment()),
          Long.toUnsignedString(file.dataOffset()));
      for (Map.Entry<String, Value> pair : file.metadata().pairs()) {
        StringBuilder text = new StringBuilder();
        value(pair.getValue(), text);
        say("key", HEX.formatHex(bytes(pair.getKey())), text.toString());
      }
      for (Tensor tensor : file.tensorList()) {
        StringBuilder dims = new StringBuilder();
        for (long dim : tensor.dims()) {
          dims.append(dims.isEmpty() ? "" : ",").append(Long.toUnsignedString(dim));
        }
        say("tensor", HEX.formatHex(bytes(tensor.name())), "" + tensor.typeId(),
            dims.isEmpty() ? "-" : dims.toString(), Long.toUnsignedString(tensor.offset()),
            tensor.isSized() ? "" + tensor.nbytes() : "-");
      }
    }
  }

  private static void value(Value value, StringBuilder text) {
    text.append(value.type()).append(':');
    plain(value, text);
  }

  /** The value without its type; for arrays of arrays a recursion of at most their depth. */
  private static void plain(Value value, StringBuilder text) {
    if (value instanceof Value.OfInteger integer) {
      text.append(integer.value());
    } else if (value instanceof Value.OfFloat real) {
      boolean nan = Double.isNaN(real.doubleValue());
      text.append(nan ? "nan" : HEX.toHexDigits(real.bits(), 2 * real.type().bytes()));
    } else if (value instanceof Value.OfBool flag) {
      text.append(flag.booleanValue() ? 1 : 0);
    } else if (value instanceof Value.OfString string) {
      text.append(HEX.formatHex(string.bytes()));
    } else if (value instanceof ArrayValue array) {
      elements(array, text);
    }
  }

  private static void elements(ArrayValue array, StringBuilder text) {
    text.append(array.elementType()).append(':').append(array.size()).append(":[");
    if (array.elementType().kind() == ValueType.Kind.ARRAY) {
      String comma = "";
      for (ArrayValue inner : array.arrays()) {
        text.append(comma);
        elements(inner, text);
        comma = ",";
      }
    } else {
      for (long i = 0; i < array.size(); i++) {
        text.append(i == 0 ? "" : ",");
        plain(array.get(i), text);
      }
    }
    text.append(']');
  }

  private void tensor(Profile profile, Path path, String name) throws IOException {
    try (Gguf file = Gguf.open(path, profile)) {
      floats(file.tensor(name).dequantize());
    }
  }

  private void dequantize(TensorType type, String suffix, String row) {
    byte[] tail = HEX.parseHex(suffix.replace("-", ""));
    floats(Dequantizer.of(type).dequantize(HEX.parseHex(row.replace("-", "")), tail));
  }

  private void floats(float[] values) {
    StringBuilder text = new StringBuilder(8 * values.length);
    for (float value : values) {
      HEX.toHexDigits(text, (byte) Float.floatToRawIntBits(value));
      HEX.toHexDigits(text, (byte) (Float.floatToRawIntBits(value) >> 8));
      HEX.toHexDigits(text, (byte) (Float.floatToRawIntBits(value) >> 16));
      HEX.toHexDigits(text, (byte) (Float.floatToRawIntBits(value) >> 24));
    }
    say("f32", text.toString());
  }

  private void unpack(TensorType type, byte[] blocks) {
    Codes codes = type.unpack(blocks);
    StringBuilder text = new StringBuilder();
    for (Codes.Array array : type.arrays()) {
      text.append(text.isEmpty() ? "" : ";").append(array.name()).append('=');
      int[] numbers = codes.get(array.name());
      for (int i = 0; i < numbers.length; i++) {
        text.append(i == 0 ? "" : ",").append(array.value(numbers[i]));
      }
    }
    say("codes", text.toString());
  }

  private void pack(TensorType type, String given) {
    Map<String, int[]> codes = new LinkedHashMap<>();
    for (String part : given.split(";")) {
      String[] pair = part.split("=", -1);
      String[] numbers = pair[1].split(",");
      int[] made = new int[pair[1].isEmpty() ? 0 : numbers.length];
      for (int i = 0; i < made.length; i++) {
        made[i] = (int) Long.parseLong(numbers[i]);
      }
      codes.put(pair[0], made);
    }
    say("bytes", HEX.formatHex(type.pack(codes)));
  }

  private void copy(Path from, Path to) throws IOException {
    try (Gguf file = Gguf.open(from)) {
      for (Tensor tensor : file.tensors().values()) {
        if (!tensor.isSized()) {
          say("fail", "unknown type");
          return;
        }
      }
      Writer.copyOf(file).write(to);
      say("ok");
    }
  }

  /** The best time of several runs. */
  private void time(String[] request) throws IOException {
    if (request[1].equals("open")) {
      Path path = Path.of(request[2]);
      best(Integer.parseInt(request[3]), () -> list(path));
      return;
    }
    TensorType type = type(request[2]);
    byte[] row = Files.readAllBytes(Path.of(request[3]));
    float[] values = new float[row.length / type.bytes() * type.elements()];
    byte[] suffix = new byte[type.tensorSuffix()];
    Dequantizer dequantizer = Dequantizer.of(type);
    best(Integer.parseInt(request[4]), () -> dequantizer.dequantize(row, 0, row.length, suffix, values, 0));
  }

  private interface Work {
    void run() throws IOException;
  }

  private void best(int count, Work work) throws IOException {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < count; i++) {
      long start = System.nanoTime();
      work.run();
      least = Math.min(least, System.nanoTime() - start);
    }
    say("seconds", String.format(Locale.ROOT, "%.9f", least / 1e9));
  }

  /** Opens a file and looks at every key and tensor. */
  private static void list(Path path) throws IOException {
    long seen = 0;
    try (Gguf file = Gguf.open(path)) {
      for (Map.Entry<String, Value> pair : file.metadata().entrySet()) {
        seen += pair.getKey().length() + pair.getValue().type().id();
      }
      for (Tensor tensor : file.tensors().values()) {
        seen += tensor.name().length() + tensor.typeId() + tensor.shape().length;
      }
    }
    if (seen == 0) {
      throw new IllegalStateException(path + " holds nothing");
    }
  }

  /** A name as the library has it: bytes that are no UTF-8 are lone surrogates. */
  private static String name(byte[] raw) {
    StringBuilder text = new StringBuilder();
    for (int at = 0; at < raw.length;) {
      int width = Math.min(raw.length - at, raw[at] >= 0 ? 1 : raw[at] >= -32 ? raw[at] >= -16 ? 4 : 3 : 2);
      String part = new String(raw, at, width, StandardCharsets.UTF_8);
      if (part.contains("\ufffd") || raw[at] < -64) {
        text.append((char) (SURROGATE + (raw[at] & 255)));
        at++;
      } else {
        text.append(part);
        at += width;
      }
    }
    return text.toString();
  }

  private static byte[] bytes(String name) {
    java.io.ByteArrayOutputStream raw = new java.io.ByteArrayOutputStream();
    name.codePoints().forEach(code -> {
      if (code >= SURROGATE && code < SURROGATE + 256) {
        raw.write(code - SURROGATE);
      } else {
        raw.writeBytes(Character.toString(code).getBytes(StandardCharsets.UTF_8));
      }
    });
    return raw.toByteArray();
  }
}
