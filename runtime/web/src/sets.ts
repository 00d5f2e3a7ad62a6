/** Split sets: which files belong together, and whether they do. */
import { SET_RULES, SPLIT_KEYS } from "../../../generated/inspector/data.js";
import type { Finding } from "../../../generated/typescript/src/index.js";
import { numberOf, type Opened } from "./opened.js";
import { filledIn } from "./text.js";

const NAME = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i;
const MOST_SHOWN = 20; // tensors that are named because two files hold them

/** What a file says about the set it belongs to. */
export interface Part {
  readonly opened: Opened;
  /** From 0. */
  readonly number: number | undefined;
  readonly count: number | undefined;
  readonly tensors: number | undefined;
  /** What the name says: what the names of the set begin with, the number from 1, how many. */
  readonly named: { readonly prefix: string; readonly number: number; readonly count: number } | undefined;
}

/** The part that a file is; undefined for one that stands alone. */
export function partOf(opened: Opened): Part | undefined {
  const { file, name } = opened;
  const found = NAME.exec(name);
  const count = numberOf(file, SPLIT_KEYS.count);
  const split = Object.values(SPLIT_KEYS).some((key) => file.metadata.has(key));
  if (!found && !split) return undefined;
  if (count === 1 && !found) return undefined;
  return {
    opened,
    number: numberOf(file, SPLIT_KEYS.number),
    count,
    tensors: numberOf(file, SPLIT_KEYS.tensors),
    named: found
      ? { prefix: found[1].split("/").pop() as string, number: Number(found[2]), count: Number(found[3]) }
      : undefined,
  };
}

/** A set: files that name the same prefix and count, and what is wrong with them together. */
export interface FileSet {
  readonly parts: readonly Part[];
  readonly count: number;
  readonly missing: readonly number[];
  readonly findings: readonly Finding[];
}

/** The set that a file belongs to, of those that are open. */
export function setOf(opened: Opened, all: readonly Opened[]): FileSet | undefined {
  const own = partOf(opened);
  if (!own) return undefined;
  const parts = all
    .map(partOf)
    .filter((part): part is Part => part !== undefined && together(own, part))
    .sort((a, b) => place(a) - place(b));
  const count = own.named?.count ?? own.count ?? parts.length;
  const here = new Set(parts.map(place));
  const missing: number[] = [];
  for (let i = 0; i < Math.min(count, 100_000); i++) if (!here.has(i)) missing.push(i + 1);
  return { parts, count, missing, findings: check(parts, count, missing.length) };
}

function together(a: Part, b: Part): boolean {
  if (a.opened === b.opened) return true;
  return a.named !== undefined && a.named.prefix === b.named?.prefix && a.named.count === b.named.count;
}

function place(part: Part): number {
  return part.named ? part.named.number - 1 : (part.number ?? 0);
}

function check(parts: readonly Part[], count: number, missing: number): Finding[] {
  const found: Finding[] = [];
  const add = (rule: string, path: string, facts: Record<string, string | number>) => {
    const entry = SET_RULES[rule];
    const message = filledIn(entry[1], facts);
    const [id, , hint] = entry;
    found.push({ rule: id, severity: "error", offset: null, path, message, hint, unsupported: false });
  };
  const first = parts[0].opened.file;
  for (const part of parts) {
    const { file, name } = part.opened;
    checkKeys(part, count, add);
    const compared: [string, string | number, string | number][] = [
      ["shard_version", file.version, first.version],
      ["shard_alignment", file.alignment, first.alignment],
      ["shard_byte_order", file.byteOrder, first.byteOrder],
    ];
    for (const [rule, value, expected] of compared) {
      if (value !== expected) add(rule, name, { file: name, value, expected });
    }
  }
  checkTensors(parts, missing === 0, add);
  return found;
}

type Add = (rule: string, path: string, facts: Record<string, string | number>) => void;

function checkKeys(part: Part, count: number, add: Add): void {
  const { file, name } = part.opened;
  if (!part.named) return add("shard_name", name, { count });
  const values = [part.number, part.count, part.tensors];
  Object.values(SPLIT_KEYS).forEach((key, i) => {
    const value = values[i];
    const good = value !== undefined && value >= 0 && (key !== SPLIT_KEYS.number || value < count);
    if (!good) add("shard_key", name, { key, value: file.metadata.has(key) ? String(value) : "missing" });
  });
  if (part.count !== undefined && part.count !== count) {
    add("shard_count", name, { file: name, value: part.count, expected: count });
  }
  const expected = part.named.number - 1;
  if (part.number !== undefined && part.number !== expected) {
    add("shard_number", name, { file: name, value: part.number, expected });
  }
}

function checkTensors(parts: readonly Part[], complete: boolean, add: Add): void {
  const places = new Map<string, string>();
  let twice = 0;
  let total = 0;
  for (const { opened } of parts) {
    for (const tensor of opened.survey.names) {
      total++;
      const first = places.get(tensor);
      if (first === undefined) places.set(tensor, opened.name);
      else if (first !== opened.name && ++twice <= MOST_SHOWN) {
        add("shard_tensors_unique", opened.name, { file: opened.name, tensor: JSON.stringify(tensor), first });
      }
    }
  }
  const expected = parts.find((part) => part.tensors !== undefined)?.tensors;
  if (complete && expected !== undefined && expected !== total) {
    add("shard_tensor_count", parts[0].opened.name, { expected, value: total });
  }
}
