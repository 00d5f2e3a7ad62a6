/** Bit pictures: which bits of a block's bytes belong to which code. */
import { findType, TYPES, type TypeInfo } from "../../../../generated/typescript/src/index.js";
import { PICTURES, type Picture, type Words } from "../../../../generated/inspector/data.js";
import { facts, fill, h, svg } from "../dom.js";
import { counted } from "../text.js";

const CELL = 6; // units of a bit in the picture of the whole block
const TALL = 14;
const NARROW = "(max-width: 720px)";

/** The tab: a choice of types and the picture of one. `used` are the types of the file. */
export function blocksView(used: readonly string[]): { element: HTMLElement; show(type: string): void } {
  const option = (name: string) => h("option", { value: name }, name);
  const drawn = TYPES.map((type) => type.name);
  const own = used.filter((name) => drawn.includes(name));
  const select = h(
    "select",
    {},
    own.length ? h("optgroup", { label: "In this file" }, ...own.map(option)) : null,
    h("optgroup", { label: "All types" }, ...drawn.map(option)),
  );
  const place = h("div");
  const show = (name: string) => {
    select.value = name;
    const kind = findType(name);
    if (kind) fill(place, pictureOf(kind, PICTURES[name]));
  };
  select.addEventListener("change", () => show(select.value));
  const blocks = own.find((name) => (findType(name)?.elements ?? 0) > 1);
  show(blocks ?? own[0] ?? "Q4_K");
  const element = h("div", { class: "blocks" }, h("div", { class: "tools" }, h("label", {}, "Type ", select)), place);
  return { element, show };
}

function pictureOf(kind: TypeInfo, picture: Picture): HTMLElement {
  const { elements, bytes } = kind;
  const head = [
    h("h2", {}, kind.name),
    h("p", {}, kind.doc),
    facts([
      ["Number", kind.id === null ? "a fork's, whose numbers differ" : String(kind.id)],
      ["Status", kind.status],
      ["Since", picture.since],
      ["Block", elements ? `${counted(elements, "weight")} in ${counted(bytes, "byte")}` : null],
      ["Bits per weight", elements ? String(Number(((8 * bytes) / elements).toFixed(4))) : null],
      ["Before each row", kind.rowPrefix ? counted(kind.rowPrefix, "byte") : null],
      ["Behind the tensor", kind.tensorSuffix ? counted(kind.tensorSuffix, "byte") : null],
      ...picture.removed.map(([name, text]) => [name, text] as const),
    ]),
  ];
  if (!picture.words.length) return h("div", {}, ...head);
  const colours = coloursOf(picture);
  return h(
    "div",
    {},
    ...head,
    h("h3", {}, "The whole block"),
    h("p", { class: "hint" }, "Bytes in the order of the file, 8 bits each, the highest left; a box is a part of one number."),
    legend(colours),
    blockPicture(kind, picture, colours),
    h("h3", {}, "Words and their bits"),
    wordTable(picture, colours),
    h("h3", {}, "How a weight is made"),
    h("pre", { class: "formulas wrap", tabindex: 0 }, [...picture.codes, ...picture.decode.map(([name, text]) => `${name} = ${text}`)].join("\n")),
  );
}

function coloursOf({ words }: Picture): Map<string, number> {
  const codes = words.flatMap((line) => (line.digits ? [line.digits[1]] : line.cuts.map((cut) => cut[2])));
  return new Map([...new Set(codes)].map((code, i) => [code, i % 8]));
}

function legend(colours: ReadonlyMap<string, number>): HTMLElement {
  const items = [...colours].map(([code, i]) => h("li", {}, h("span", { class: `swatch c${i}` }), code));
  return h("ul", { class: "legend" }, ...items);
}

/** Every bit of a block: rows of bytes, a box for each cut. */
function blockPicture(kind: TypeInfo, picture: Picture, colours: ReadonlyMap<string, number>): HTMLElement {
  const perRow = Math.min(kind.bytes, matchMedia(NARROW).matches ? 8 : 16);
  const rows = Math.ceil(kind.bytes / perRow);
  const left = 28;
  const width = left + perRow * 8 * CELL;
  const height = rows * (TALL + 4) + 14;
  const drawing = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": described(kind, picture),
    class: "block-picture",
  });
  drawing.style.maxWidth = `${1.6 * width}px`;
  for (let byte = 0; byte < perRow; byte += perRow > 4 ? 4 : 1) {
    drawing.append(svg("text", { x: left + byte * 8 * CELL, y: 9, class: "ruler" }, byte));
  }
  for (let row = 0; row < rows; row++) {
    const y = 14 + row * (TALL + 4) + TALL - 3;
    drawing.append(svg("text", { x: left - 4, y, class: "ruler", "text-anchor": "end" }, row * perRow));
  }
  for (const line of picture.words) {
    for (const [first, stride, count] of line.places) {
      for (let i = 0; i < count; i++) {
        for (const box of boxesOf(line, first + i * stride)) {
          const x = left + ((box.byte % perRow) * 8 + 7 - box.high) * CELL;
          const y = 14 + Math.floor(box.byte / perRow) * (TALL + 4);
          const size = { x: x + 0.5, y, width: (box.high - box.low + 1) * CELL - 1, height: TALL };
          drawing.append(svg("rect", { ...size, class: `b${colours.get(box.code) ?? 0}`, rx: 1 }));
        }
      }
    }
  }
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "The whole block" }, drawing);
}

interface Box {
  readonly byte: number;
  readonly high: number;
  readonly low: number;
  readonly code: string;
}

/** The cuts of one word by bytes, the low byte first as in a little-endian file. */
function boxesOf(line: Words, place: number): Box[] {
  if (line.digits) {
    return [{ byte: place, high: 7, low: 0, code: line.digits[1] }];
  }
  const boxes: Box[] = [];
  for (const [high, low, code] of line.cuts) {
    for (let byte = Math.floor(low / 8); byte <= Math.floor(high / 8); byte++) {
      const top = Math.min(high, 8 * byte + 7) - 8 * byte;
      boxes.push({ byte: place + byte, high: top, low: Math.max(low, 8 * byte) - 8 * byte, code });
    }
  }
  return boxes;
}

function described(kind: TypeInfo, picture: Picture): string {
  const lines = picture.words.map((line) => `${line.word} (${line.scalar}): ${cutsText(line)}`);
  return `A block of ${kind.name}, ${counted(kind.bytes, "byte")}. ${lines.join(". ")}.`;
}

function cutsText(line: Words): string {
  if (line.digits) return `${line.digits[0]} base-3 digits of ${line.digits[1]}`;
  return line.cuts.map((cut) => cutText(line, cut)).join(", ");
}

function cutText(line: Words, [high, low, code, first]: Words["cuts"][number]): string {
  const whole = high - low + 1 === line.bits;
  const bits = high === low ? `bit ${high}` : `bits ${high} to ${low}`;
  const from = first ? ` from its bit ${first} on` : "";
  return whole ? `${code}${from}` : `${bits} ${code}${from}`;
}

function wordTable(picture: Picture, colours: ReadonlyMap<string, number>): HTMLElement {
  const rows = picture.words.map((line) => {
    const count = line.places.reduce((sum, [, , some]) => sum + some, 0);
    return h(
      "tr",
      {},
      h("td", { class: "numeric" }, line.places[0][0]),
      h("th", { scope: "row" }, line.word),
      h("td", {}, count > 1 ? `${count} × ${line.scalar}` : line.scalar),
      h("td", { class: "bits" }, wordPicture(line, colours)),
    );
  });
  const heads = ["Byte", "Word", "Stored as", "Bits, the highest first"];
  const table = h(
    "table",
    { class: "plain words" },
    h("caption", { class: "off-screen" }, "The words of a block and what their bits are"),
    h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
  );
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Words and their bits" }, table);
}

function wordPicture(line: Words, colours: ReadonlyMap<string, number>): HTMLElement {
  const picture = h("div", { class: "word" });
  if (line.digits) {
    const [digits, code] = line.digits;
    for (let i = 0; i < digits; i++) {
      picture.append(h("span", { class: `c${colours.get(code) ?? 0}` }, i ? `digit ${i}` : `${code}: digit 0`));
    }
    return picture;
  }
  for (const cut of line.cuts) {
    const [high, low, code, first] = cut;
    const piece = h(
      "span",
      { class: `c${colours.get(code) ?? 0}`, title: cutText(line, cut) },
      first ? `${code}≪${first}` : code,
      h("small", {}, high === low ? String(high) : `${high}–${low}`),
    );
    piece.style.flexGrow = String(high - low + 1);
    picture.append(piece);
  }
  return picture;
}
