// Answers requests with ksc's Java: java -cp ... Read; see read.mjs for the requests.

import io.kaitai.struct.ByteBufferKaitaiStream;
import io.kaitai.struct.KaitaiStream;
import io.kaitai.struct.KaitaiStruct;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.StringJoiner;

final class Read {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] request = line.split("\t");
            List<String> lines = new ArrayList<>();
            try {
                if (request[0].equals("file")) file(Path.of(request[1]), lines);
                else block(request[1], HEX.parseHex(request[2]), lines);
            } catch (Throwable error) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                lines.clear();
                lines.add("refused\t" + cause.getClass().getSimpleName() + "\t" + oneLine(cause));
            }
            lines.add("end");
            System.out.println(String.join("\n", lines));
        }
    }

    private static String oneLine(Throwable error) {
        return String.valueOf(error.getMessage()).replaceAll("\\s+", " ");
    }

    private static Object get(Object from, String name) throws ReflectiveOperationException {
        Method method = from.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(from);
    }

    private static void file(Path path, List<String> lines) throws Exception {
        byte[] bytes = Files.readAllBytes(path);
        boolean wide = false;
        if (bytes.length >= 8) {
            ByteBuffer head = ByteBuffer.wrap(bytes, 4, 4).order(ByteOrder.LITTLE_ENDIAN).slice();
            long little = Integer.toUnsignedLong(head.order(ByteOrder.LITTLE_ENDIAN).getInt(0));
            long big = Integer.toUnsignedLong(head.order(ByteOrder.BIG_ENDIAN).getInt(0));
            wide = little >= 65536 && big < 65536;
        }
        KaitaiStream stream = new ByteBufferKaitaiStream(bytes);
        Object read = wide ? new GgufBe(stream) : new GgufLe(stream);
        lines.add("ok\t" + get(read, "version") + "\t" + (wide ? "big" : "little") + "\t"
            + get(read, "alignment") + "\t" + get(read, "dataStart"));
        for (Object pair : (List<?>) get(read, "metadata")) {
            lines.add("key\t" + HEX.formatHex((byte[]) get(get(pair, "key"), "data")) + "\t"
                + text(String.valueOf(get(pair, "valueType")), get(pair, "value")));
        }
        List<?> blocks = (List<?>) get(read, "tensorBlocks");
        int index = 0;
        for (Object tensor : (List<?>) get(read, "tensors")) {
            StringJoiner dims = new StringJoiner(",");
            for (Object dim : (List<?>) get(tensor, "dims")) dims.add(String.valueOf(get(dim, "value")));
            byte[] data = (byte[]) get(blocks.get(index++), "data");
            lines.add("tensor\t" + HEX.formatHex((byte[]) get(get(tensor, "name"), "data")) + "\t"
                + get(tensor, "typeId") + "\t" + (dims.length() == 0 ? "-" : dims) + "\t"
                + Long.toUnsignedString(((Number) get(tensor, "offset")).longValue()) + "\t" + (data == null ? "-" : data.length));
        }
    }

    private static String text(String type, Object value) throws ReflectiveOperationException {
        if (!type.equals("ARRAY")) {
            return type + ":" + scalar(type, type.equals("STRING") ? value : get(value, "value"));
        }
        String element = String.valueOf(get(value, "elementType"));
        StringJoiner elements = new StringJoiner(",", "[", "]");
        for (Object one : (List<?>) get(get(value, "body"), "elements")) {
            elements.add(element.equals("ARRAY")
                ? text(element, one).substring("ARRAY:".length())
                : scalar(element, one));
        }
        return "ARRAY:" + element + ":" + get(value, "count") + ":" + elements;
    }

    private static String scalar(String type, Object value) throws ReflectiveOperationException {
        switch (type) {
            case "STRING":
                return HEX.formatHex((byte[]) get(value, "data"));
            case "BOOL":
                return ((Number) value).intValue() == 0 ? "0" : "1";
            case "FLOAT32":
                float narrow = (Float) value;
                return Float.isNaN(narrow) ? "nan" : HEX.toHexDigits(Float.floatToIntBits(narrow));
            case "FLOAT64":
                double full = (Double) value;
                return Double.isNaN(full) ? "nan" : HEX.toHexDigits(Double.doubleToLongBits(full));
            case "UINT64":
                return Long.toUnsignedString((Long) value);
            default:
                return String.valueOf(value);
        }
    }

    private static void block(String type, byte[] row, List<String> lines) throws Exception {
        StringBuilder name = new StringBuilder("GgmlBlocks$");
        for (String part : type.toLowerCase().split("_")) {
            name.append(Character.toUpperCase(part.charAt(0))).append(part.substring(1));
        }
        Class<?> kind = Class.forName(name.toString());
        Constructor<?> made = kind.getConstructor(KaitaiStream.class);
        KaitaiStream stream = new ByteBufferKaitaiStream(row);
        List<Object> blocks = new ArrayList<>();
        while (!stream.isEof()) blocks.add(made.newInstance(stream));
        for (Method method : kind.getDeclaredMethods()) {
            boolean getter = method.getParameterCount() == 0 && !Modifier.isStatic(method.getModifiers());
            if (!getter || method.getName().startsWith("_")) continue;
            StringJoiner numbers = new StringJoiner(" ");
            boolean plain = true;
            for (Object block : blocks) {
                Object value = method.invoke(block);
                for (Object one : value instanceof List<?> list ? list : List.of(value)) {
                    Object number = one instanceof Number || !(one instanceof KaitaiStruct) ? one : number(one);
                    plain &= number instanceof Number;
                    numbers.add(String.valueOf(number));
                }
            }
            if (plain) lines.add("code\t" + method.getName() + "\t" + numbers);
        }
    }

    /** The number that a code's type holds; null for a group of fields. */
    private static Object number(Object one) throws ReflectiveOperationException {
        try {
            return get(one, "value");
        } catch (NoSuchMethodException group) {
            return null;
        }
    }
}
