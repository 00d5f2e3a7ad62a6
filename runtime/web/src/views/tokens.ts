/** The vocabulary: every token with id, text, type and score; search in slices. */
import { NestedArray, StringArray, type StoredValue } from "../../../../generated/typescript/src/index.js";
import { KEY_TEXTS } from "../../../../generated/inspector/data.js";
import { meant } from "../bytelevel.js";
import { opens, showDetail } from "../detail.js";
import { facts, h, type Child } from "../dom.js";
import { say } from "../live.js";
import { textOf, type Opened } from "../opened.js";
import { searchField } from "../search.js";
import { sliced } from "../slices.js";
import { bytesText, count, counted, cut, shortest, visible, visibleToken } from "../text.js";
import { virtualTable, type Column } from "../virtual.js";

const TOKENS = "tokenizer.ggml.tokens";
const TYPES = "tokenizer.ggml.token_type";
const SCORES = "tokenizer.ggml.scores";
const BYTE_LEVEL = "gpt2"; // the tokenizer model whose tokens are written in the byte alphabet
const LITERAL = ["control", "user-defined"]; // types of tokens that are not in the byte alphabet
const SHOWN = 300; // characters of a token in the table
const TYPE_NAMES = KEY_TEXTS.find((entry) => entry.key === TYPES)?.values ?? [];

type Numbers = { readonly length: number; readonly [i: number]: number | bigint };

interface Vocabulary {
  readonly tokens: StringArray;
  readonly types: Numbers | undefined;
  readonly scores: Numbers | undefined;
  readonly byteLevel: boolean;
}

export function tokensView({ file }: Opened): HTMLElement {
  const tokens = file.metadata.get(TOKENS);
  if (!(tokens instanceof StringArray) || !tokens.length) {
    return h("p", { class: "empty" }, `The file has no vocabulary (no key ${TOKENS}).`);
  }
  const vocabulary: Vocabulary = {
    tokens,
    types: numbers(file.metadata.stored(TYPES), tokens.length),
    scores: numbers(file.metadata.stored(SCORES), tokens.length),
    byteLevel: textOf(file, "tokenizer.ggml.model") === BYTE_LEVEL,
  };
  return listing(vocabulary, specials(file.metadata, tokens.length));
}

function numbers(stored: StoredValue | undefined, length: number): Numbers | undefined {
  if (!stored?.isArray || stored.count !== length) return undefined;
  const value = stored.decode();
  const plain = !(value instanceof StringArray) && !(value instanceof NestedArray);
  return plain ? (value as unknown as Numbers) : undefined;
}

/** Ids that keys give a role: `bos` of tokenizer.ggml.bos_token_id. */
function specials(metadata: Opened["file"]["metadata"], length: number): Map<number, string> {
  const roles = new Map<number, string>();
  for (const key of metadata.keys()) {
    const found = /^tokenizer\.ggml\.(\w{1,30})_token_id$/.exec(key);
    const stored = found ? metadata.stored(key) : undefined;
    if (!found || !stored || stored.isArray) continue;
    const id = Number(stored.decode());
    if (!(id >= 0 && id < length)) continue;
    const known = roles.get(id);
    roles.set(id, known ? `${known}, ${found[1]}` : found[1]);
  }
  return roles;
}

function listing(vocabulary: Vocabulary, roles: ReadonlyMap<number, string>): HTMLElement {
  const { tokens, types, scores, byteLevel } = vocabulary;
  const columns: Column[] = [
    { name: "Id", id: "id", numeric: true },
    { name: byteLevel ? "Text (as stored)" : "Text", id: "token" },
    ...(byteLevel ? [{ name: "Means", id: "meant" }] : []),
    ...(types ? [{ name: "Type", id: "kind" }] : []),
    ...(scores ? [{ name: "Score", id: "score", numeric: true }] : []),
  ];
  let listed: Uint32Array | null = null; // all of them
  const idOf = (row: number): number => (listed ? listed[row] : row);
  const table = virtualTable({
    label: "Tokens",
    columns,
    cells: (row) => {
      const id = idOf(row);
      const text = shownToken(vocabulary, id);
      const role = roles.get(id);
      return [
        id,
        h("span", {}, opens(text, () => showToken(vocabulary, id, role)), role ? h("span", { class: "role" }, role) : null),
        ...(byteLevel ? [meantText(vocabulary, id)] : []),
        ...(types ? [typeName(types[id])] : []),
        ...(scores ? [scoreText(scores[id])] : []),
      ];
    },
    empty: "No token has that in it.",
  });
  const field = h("div", { class: "tools" });
  const found = h("span", { class: "hint" }, counted(tokens.length, "token"));
  let running = new AbortController();

  async function search(text: string): Promise<void> {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    if (!text) {
      listed = null;
      table.show(tokens.length);
      found.textContent = counted(tokens.length, "token");
      say(found.textContent);
      return;
    }
    const wanted = matcher(vocabulary, text);
    let hits = new Uint32Array(1024);
    let length = 0;
    let drawn = 0;
    const add = (id: number) => {
      if (length === hits.length) {
        const longer = new Uint32Array(2 * length);
        longer.set(hits);
        hits = longer;
      }
      hits[length++] = id;
    };
    const draw = (last: boolean) => {
      listed = hits.slice(0, length);
      table.show(length, drawn > 0);
      drawn++;
      found.textContent = last ? `${count(length)} of ${counted(tokens.length, "token")}` : `${count(length)} so far …`;
    };
    const exact = exactId(text, tokens.length);
    if (exact !== undefined) add(exact);
    const whole = await sliced(
      tokens.length,
      (id) => {
        if (id !== exact && wanted(id)) add(id);
      },
      signal,
      () => {
        if (!drawn && length) draw(false);
      },
    );
    if (!whole) return;
    draw(true);
    say(found.textContent ?? "");
  }

  field.append(searchField("Search tokens, or a number for an id", (text) => void search(text)), found);
  table.show(tokens.length);
  return h("div", { class: "listing" }, field, table.element);
}

/** `17` and `#17` name a token by its id. */
function exactId(text: string, length: number): number | undefined {
  const found = /^#?(\d{1,9})$/.exec(text.trim());
  const id = found ? Number(found[1]) : NaN;
  return id < length ? id : undefined;
}

/** Whether a token has a text in it: as stored, as shown with escapes, or as what it means. */
function matcher(vocabulary: Vocabulary, text: string): (id: number) => boolean {
  const { tokens, byteLevel } = vocabulary;
  const wanted = text.toLowerCase();
  const escaped = text.includes("\\");
  return (id) => {
    const token = tokens.at(id);
    if (typeof token !== "string") return visibleToken(token as Uint8Array).includes(wanted);
    if (token.toLowerCase().includes(wanted)) return true;
    if (escaped && visibleToken(token).toLowerCase().includes(wanted)) return true;
    const means = byteLevel ? meaningOf(vocabulary, id) : undefined;
    return typeof means === "string" && means.toLowerCase().includes(wanted);
  };
}

function shownToken({ tokens }: Vocabulary, id: number): string {
  const token = tokens.at(id);
  if (token === undefined) return "–";
  const short = typeof token === "string" ? cut(token, SHOWN) : token;
  return visibleToken(short) || "(empty)";
}

/** What a token of the byte alphabet stands for; tokens with a role are written as they are. */
function meaningOf({ tokens, types }: Vocabulary, id: number): string | Uint8Array | undefined {
  const token = tokens.at(id);
  const literal = types && LITERAL.includes(typeName(types[id]));
  return typeof token !== "string" || literal ? token : meant(token);
}

function meantText(vocabulary: Vocabulary, id: number): string {
  const means = meaningOf(vocabulary, id);
  if (means === undefined) return "";
  return typeof means === "string" ? visible(cut(means, SHOWN)).replaceAll(" ", "␣") : bytesText(means);
}

function typeName(type: number | bigint): string {
  return TYPE_NAMES.find(([value]) => value === type)?.[1] ?? String(type);
}

function scoreText(score: number | bigint): string {
  return typeof score === "number" ? shortest(score, false) : String(score);
}

function showToken(vocabulary: Vocabulary, id: number, role: string | undefined): void {
  const { tokens, types, scores, byteLevel } = vocabulary;
  const token = tokens.at(id);
  const bytes = tokens.bytes(id) ?? new Uint8Array(0);
  const text = typeof token === "string" ? visibleToken(cut(token, 20_000)) : "not UTF-8";
  const pairs: [string, Child][] = [
    ["Text", h("code", {}, text)],
    ["Means", byteLevel ? h("code", {}, meantText(vocabulary, id)) : null],
    ["Bytes", h("code", {}, bytesText(bytes, 400))],
    ["Length", counted(bytes.length, "byte")],
    ["Type", types ? `${typeName(types[id])} (${types[id]})` : null],
    ["Score", scores ? scoreText(scores[id]) : null],
    ["Role", role ?? null],
  ];
  showDetail(`Token ${count(id)}`, facts(pairs));
}
