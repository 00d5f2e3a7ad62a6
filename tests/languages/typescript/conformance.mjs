// The conformance program of TypeScript: a request a line, answers on standard output.
//
// GGUFSPEC_TS is the folder of the built package. The runner beside this folder says what the
// requests are.
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = process.env.GGUFSPEC_TS ?? new URL("../../../generated/typescript", import.meta.url).pathname;
const load = (name) => import(pathToFileURL(`${folder}/dist/${name}.js`).href);
const { dequantize, findType, GGUFError, NestedArray, pack, parse, SPEC_VERSION, StringArray, tensorsOfSync,
  TYPES, unpack, write } = await load("index");
const { openFile } = await load("node");

const hex = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
const unhex = (text) => (text === "-" ? new Uint8Array(0) : Uint8Array.from(Buffer.from(text, "hex")));
const parsed = (path, profile) => parse(new Uint8Array(readFileSync(path)), { profile });

/** The bytes of a name, as the answer writes it. */
function nameHex(name) {
  const bytes = [];
  for (const character of name) {
    const code = character.codePointAt(0);
    if (code >= 0xdc80 && code <= 0xdcff) bytes.push(code - 0xdc00);
    else bytes.push(...Buffer.from(character));
  }
  return Buffer.from(bytes).toString("hex");
}

function nameOf(text) {
  // Latin-1 and a search: the names of tensors that are not UTF-8 are rare
  return (file) => {
    for (const tensor of file.tensors) if (nameHex(tensor.name) === text) return tensor;
    throw new Error("no such tensor");
  };
}

function scalars(stored) {
  const { element, bytes, littleEndian } = stored;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = element.bytes;
  const texts = [];
  for (let at = 0; at < bytes.byteLength; at += width) {
    let raw = 0n;
    for (let i = 0; i < width; i++) {
      raw = (raw << 8n) | BigInt(view.getUint8(at + (littleEndian ? width - 1 - i : i)));
    }
    if (element.kind === "bool") texts.push(raw ? "1" : "0");
    else if (element.kind === "int") texts.push(String(BigInt.asIntN(8 * width, raw)));
    else if (element.kind === "uint") texts.push(String(raw));
    else {
      const value = width === 8 ? view.getFloat64(at, littleEndian) : view.getFloat32(at, littleEndian);
      texts.push(Number.isNaN(value) ? "nan" : raw.toString(16).padStart(2 * width, "0"));
    }
  }
  return texts;
}

/** What stands behind the type's colon. */
function elements(stored) {
  if (stored.element.kind === "array") {
    const nested = new NestedArray(stored);
    return Array.from({ length: stored.count }, (_, i) => content(nested.storedAt(i)));
  }
  if (stored.element.kind !== "string") return scalars(stored);
  if (!stored.isArray) return [hex(stored.bytes)];
  const strings = new StringArray(stored);
  return Array.from({ length: stored.count }, (_, i) => hex(strings.bytes(i)));
}

function content(stored) {
  const { name } = stored.element;
  return stored.isArray ? `${name}:${stored.count}:[${elements(stored).join(",")}]` : `${name}:${elements(stored)[0]}`;
}

function open(profile, path) {
  const file = parsed(path, profile);
  const lines = [`ok\t${file.version}\t${file.byteOrder}\t${file.alignment}\t${file.dataOffset}`];
  for (const [key, stored] of file.metadata.storedEntries()) {
    lines.push(`key\t${nameHex(key)}\t${stored.isArray ? "ARRAY:" : ""}${content(stored)}`);
  }
  for (const tensor of file.tensors) {
    const { dims, offset, nbytes } = tensor.exact;
    const place = `${dims.join(",") || "-"}\t${offset}\t${nbytes ?? "-"}`;
    lines.push(`tensor\t${nameHex(tensor.name)}\t${tensor.typeId}\t${place}`);
  }
  return lines;
}

function floats(values) {
  return [`f32\t${hex(values)}`];
}

function decode(type, prefix, suffix, row) {
  const kind = findType(type);
  const data = Buffer.concat([unhex(prefix), unhex(row)]);
  const elementCount = (unhex(row).byteLength / kind.bytes) * kind.elements;
  const options = { row: elementCount, tensorSuffix: unhex(suffix) };
  return floats(dequantize(kind, new Uint8Array(data), options));
}

function codesOf(type, data) {
  const found = Object.entries(unpack(type, unhex(data)));
  return [`codes\t${found.map(([name, values]) => `${name}=${values.join(",")}`).join(";")}`];
}

function packed(type, text) {
  const codes = text.split(";").map((part) => {
    const [name, numbers] = part.split("=");
    return [name, numbers.split(",").map(Number)];
  });
  return [`bytes\t${hex(pack(type, Object.fromEntries(codes)))}`];
}

function copy(from, to) {
  const file = parsed(from, "lenient");
  if (Array.from(file.tensors).some((tensor) => tensor.nbytes === undefined)) return ["fail\tunknown type"];
  const { version, byteOrder, alignment } = file;
  writeFileSync(to, write(file.metadata, tensorsOfSync(file), { version, byteOrder, alignment }));
  return ["ok"];
}

async function timed(count, work) {
  let best = Infinity;
  for (let i = 0; i < count; i++) {
    const start = process.hrtime.bigint();
    await work();
    best = Math.min(best, Number(process.hrtime.bigint() - start));
  }
  return [`seconds\t${(best / 1e9).toFixed(9)}`];
}

async function time(what, ...fields) {
  if (what === "open") {
    const [path, count] = fields;
    return timed(Number(count), async () => {
      const file = await openFile(path);
      let seen = 0;
      for (const [key, stored] of file.metadata.storedEntries()) seen += key.length + stored.type.length;
      for (const tensor of file.tensors) seen += tensor.name.length + tensor.type.length + tensor.shape.length;
      await file.close();
      if (!seen) throw new Error("an empty file");
    });
  }
  const [type, path, count] = fields;
  const data = new Uint8Array(readFileSync(path));
  const kind = findType(type);
  const out = new Float32Array((data.byteLength / kind.bytes) * kind.elements);
  return timed(Number(count), () => dequantize(kind, data, { out }));
}

const typeLine = ({ id, name, elements: count, bytes, status }) =>
  `type\t${id ?? "-"}\t${name}\t${count}\t${bytes}\t${status}`;

const ANSWERS = {
  hello: () => [`hello\ttypescript\t${SPEC_VERSION}`],
  types: () => TYPES.map(typeLine),
  open,
  tensor: (profile, path, name) => floats(nameOf(name)(parsed(path, profile)).dequantizeSync()),
  dequantize: decode,
  unpack: codesOf,
  pack: packed,
  copy,
  time,
};

async function answer(line) {
  const [name, ...fields] = line.split("\t");
  try {
    if (!Object.hasOwn(ANSWERS, name)) throw new Error(`unknown request ${name}`);
    return await ANSWERS[name](...fields);
  } catch (error) {
    if (error instanceof GGUFError) return [`error\t${error.code}\t${error.offset ?? "-"}`];
    return [`fail\t${`${error.name}: ${error.message}`.replaceAll("\n", " ")}`];
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write([...(await answer(line)), "end", ""].join("\n"));
}
