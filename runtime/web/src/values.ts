/** Metadata values: a line for the table, all of it for the window. */
import { StoredValue } from "../../../generated/typescript/src/index.js";
import { FILE_TYPES, KEY_TEXTS } from "../../../generated/inspector/data.js";
import { bytesText, count, cut, shortest, visible } from "./text.js";

const LINE = 200; // characters of a line
const LINE_BYTES = 4 * LINE;
const LONGEST = 2000; // characters of an element
const FEW = 8; // elements of an array that a line shows

type Element = string | number | bigint | boolean | Uint8Array;

/** Reads the elements of an array, or the one value, without decoding all of them. */
export interface Elements {
  readonly length: number;
  at(i: number): string;
}

/** The value of a key as one line. */
export function lineOf(key: string, stored: StoredValue): string {
  if (!stored.isArray) {
    if (stored.element.kind === "string") return textLine(stored);
    return `${scalar(stored.decode() as Element, stored)}${meaning(key, stored)}`;
  }
  const elements = elementsOf(firstOf(stored, FEW));
  const shown: string[] = [];
  for (let i = 0; i < elements.length; i++) shown.push(elements.at(i));
  const more = stored.count > FEW ? ", …" : "";
  return cut(`[${shown.join(", ")}${more}]`, LINE);
}

/** The first elements of an array, so that a line costs nothing more than it shows. */
function firstOf(array: StoredValue, most: number): StoredValue {
  const { cursor, element, start } = array;
  const count = Math.min(most, array.count);
  const end = element.bytes ? start + count * element.bytes : array.end;
  return new StoredValue(cursor, element, true, count, start, end);
}

function textLine(stored: StoredValue): string {
  const { bytes } = stored;
  if (bytes.length <= LINE_BYTES) return cut(scalar(stored.decode() as Element), LINE);
  const start = new TextDecoder().decode(bytes.subarray(0, LINE_BYTES));
  return cut(visible(start), LINE);
}

/** The elements of an array as texts, on demand. */
export function elementsOf(stored: StoredValue): Elements {
  const value = stored.decode() as unknown as { length: number; at(i: number): unknown };
  const { kind } = stored.element;
  const shown = (element: unknown): string => {
    if (kind === "bool") return element ? "true" : "false";
    return typeof element === "string" ? `"${visible(cut(element, LONGEST))}"` : scalar(element as Element, stored);
  };
  return {
    length: stored.count,
    at: (i) => (kind === "array" ? nested(value, i) : shown(value.at(i))),
  };
}

/** An array within an array: its type, and its first elements where those are no arrays. */
function nested(outer: unknown, i: unknown): string {
  const stored = (outer as { storedAt(i: number): StoredValue | undefined }).storedAt(i as number);
  if (!stored) return "–";
  const summary = `${stored.type} of ${count(stored.count)}`;
  return stored.element.kind === "array" ? summary : `${summary}: ${lineOf("", stored)}`;
}

function scalar(value: Element, stored?: StoredValue): string {
  if (typeof value === "number" && stored?.element.kind === "float") {
    return shortest(value, stored.element.bytes > 4);
  }
  if (typeof value === "string") return visible(value);
  if (value instanceof Uint8Array) return bytesText(value);
  return String(value);
}

/** The name that the specification has for a value. */
function meaning(key: string, stored: StoredValue): string {
  const value = stored.decode();
  if (typeof value !== "number") return "";
  const known = aboutKey(key)?.values.find(([number]) => number === value)?.[1];
  const name = key === "general.file_type" ? FILE_TYPES[value] : known;
  return name ? ` (${name})` : "";
}

/** What the specification says about a key. */
export function aboutKey(key: string): (typeof KEY_TEXTS)[number] | undefined {
  if (key.length > LINE) return undefined;
  const exact = KEY_TEXTS.find((entry) => entry.key === key);
  if (exact) return exact;
  const words = key.split(".");
  return KEY_TEXTS.find((entry) => {
    const parts = entry.key.split(".");
    return parts.length === words.length
      && parts.every((part, i) => part === words[i] || /^\{\w+\}$/.test(part));
  });
}
