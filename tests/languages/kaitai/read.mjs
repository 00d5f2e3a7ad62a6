// Answers requests with ksc's JavaScript: node read.mjs COMPILED, a request a line.
// COMPILED holds the text and the node_modules with its runtime.
//   file PATH           -> the lines of a file's content, or `refused`, and `end`
//   block TYPE HEX      -> a line of codes for each stored field and code, and `end`
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const compiled = resolve(process.argv[2]);
const load = createRequire(join(compiled, "here.js"));
const Stream = load("kaitai-struct/KaitaiStream");
const Format = {
  le: load(join(compiled, "GgufLe.js")).GgufLe,
  be: load(join(compiled, "GgufBe.js")).GgufBe,
};
const { GgmlBlocks } = load(join(compiled, "GgmlBlocks.js"));
const hex = (bytes) => Buffer.from(bytes).toString("hex");

function bits(value, size) {
  if (Number.isNaN(value)) return "nan";
  const buffer = Buffer.alloc(size);
  if (size === 4) buffer.writeFloatBE(value);
  else buffer.writeDoubleBE(value);
  return buffer.toString("hex");
}

function scalar(type, value) {
  if (type === "FLOAT32") return bits(value, 4);
  if (type === "FLOAT64") return bits(value, 8);
  if (type === "BOOL") return value ? "1" : "0";
  if (type === "STRING") return hex(value.data);
  return String(BigInt(value));
}

function text(kind, type, value) {
  const name = kind.ValueType[type];
  if (name !== "ARRAY") return `${name}:${scalar(name, name === "STRING" ? value : value.value)}`;
  const element = kind.ValueType[value.elementType];
  const elements = value.body.elements.map((one) =>
    element === "ARRAY" ? text(kind, type, one).slice("ARRAY:".length) : scalar(element, one),
  );
  return `ARRAY:${element}:${value.count}:[${elements.join(",")}]`;
}

function* file(path) {
  const bytes = readFileSync(path);
  const wide = bytes.length >= 8 && bytes.readUInt32LE(4) >= 65536 && bytes.readUInt32BE(4) < 65536;
  const kind = wide ? Format.be : Format.le;
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const read = new kind(new Stream(whole));
  yield ["ok", read.version, wide ? "big" : "little", read.alignment, read.dataStart];
  for (const pair of read.metadata) {
    yield ["key", hex(pair.key.data), text(kind, pair.valueType, pair.value)];
  }
  for (const [index, tensor] of read.tensors.entries()) {
    const block = read.tensorBlocks[index];
    const dims = tensor.dims.map((dim) => dim.value).join(",") || "-";
    const size = tensor.isSized ? block.data.length : "-";
    yield ["tensor", hex(tensor.name.data), tensor.typeId, dims, tensor.offset, size];
  }
}

const camel = (name) => name.replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());

function* block(type, row) {
  const name = camel(type.toLowerCase());
  const kind = GgmlBlocks[name[0].toUpperCase() + name.slice(1)];
  const bytes = Buffer.from(row, "hex");
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const stream = new Stream(whole);
  const blocks = [];
  while (!stream.isEof()) blocks.push(new kind(stream, null, null));
  const names = new Set();
  for (const key of Object.getOwnPropertyNames(blocks[0])) if (!key.startsWith("_")) names.add(key);
  for (const key of Object.getOwnPropertyNames(kind.prototype)) {
    if (!key.startsWith("_") && key !== "constructor") names.add(key);
  }
  for (const key of names) {
    const numbers = blocks.flatMap((one) => one[key]).map((one) => one?.value ?? one);
    if (numbers.every((one) => typeof one === "number")) yield ["code", key, numbers.join(" ")];
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [what, ...rest] = line.split("\t");
  const lines = [];
  try {
    for (const fields of { file, block }[what](...rest)) lines.push(fields.join("\t"));
  } catch (error) {
    lines.splice(0, lines.length, `refused\t${error?.name}\t${String(error?.message).replace(/\s+/g, " ")}`);
  }
  process.stdout.write([...lines, "end", ""].join("\n"));
}
