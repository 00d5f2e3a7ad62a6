/** Text out of files, made visible; numbers for people. */
const ESCAPES: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };
// Controls, separators, characters without width or that turn the direction of text, lone
// surrogates, spaces that look like others or like none.
const HIDDEN =
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc]|\p{Cs}|[\u{e0000}-\u{e0fff}]/gu;

function escaped(character: string): string {
  const code = character.codePointAt(0) as number;
  return ESCAPES[character] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 4)}}`);
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}

/** One line in which every character shows: escapes for those that would not. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escaped);
}

/** A token: as `visible`, backslashes doubled, so that the escapes are beyond doubt. */
export function visibleToken(token: string | Uint8Array): string {
  return typeof token === "string" ? visible(token.replaceAll("\\", "\\\\")) : bytesText(token);
}

/** Several lines: line ends and tabs stay, everything else shows. */
export function visibleLines(text: string): string {
  return text.replace(HIDDEN, (c) => (c === "\n" || c === "\t" ? c : escaped(c)));
}

/** Bytes that are no text. */
export function bytesText(bytes: Uint8Array, most = 64): string {
  const shown = Array.from(bytes.subarray(0, most), (byte) => `\\x${hex(byte, 2)}`).join("");
  return bytes.length > most ? `${shown}… (${count(bytes.length)} bytes)` : shown;
}

/** At most `most` characters, the rest counted. Never half of a surrogate pair. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = /[\ud800-\udbff]/.test(text[most - 1]) ? most - 1 : most;
  return `${text.slice(0, end)}…`;
}

const GROUPED = new Intl.NumberFormat("en");

export function count(number: number | bigint): string {
  return GROUPED.format(number);
}

/** "1 tensor", "2 tensors". */
export function counted(number: number, one: string, more = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : more}`;
}

/** Bytes in powers of 1000, as the command line's K, M and G are. */
export function size(bytes: number): string {
  return scaled(bytes, ["B", "kB", "MB", "GB", "TB", "PB"]);
}

/** Parameters: 134.5 M. */
export function magnitude(number: number): string {
  return scaled(number, ["", "K", "M", "B", "T"]);
}

function scaled(number: number, units: readonly string[]): string {
  let unit = 0;
  while (number >= 999.5 && unit < units.length - 1) {
    number /= 1000;
    unit++;
  }
  const digits = unit === 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return `${number.toFixed(digits)} ${units[unit]}`.trim();
}

export function percent(part: number, whole: number): string {
  return whole ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

/** The rule of Python's format strings that the specification's messages use. */
export function filledIn(message: string, facts: Record<string, string | number>): string {
  return message.replace(/\{(\w+)(:[^}]*)?\}/g, (_, name: string, format = "") => {
    const value = facts[name];
    if (format === ":,") return count(Number(value));
    const digits = /^:0(\d)d$/.exec(format);
    return digits ? String(value).padStart(Number(digits[1]), "0") : String(value);
  });
}

/** The shortest decimal that is this number again: of float32 too, whose doubles have long tails. */
export function shortest(number: number, isDouble: boolean): string {
  if (isDouble || !Number.isFinite(number)) return String(number);
  for (let digits = 1; digits < 10; digits++) {
    const short = Number(number.toPrecision(digits));
    if (Math.fround(short) === number) return String(short);
  }
  return String(number);
}
