/** Types and bits per weight, by type and in all. */
import { findType } from "../../../../generated/typescript/src/index.js";
import { h } from "../dom.js";
import type { Opened } from "../opened.js";
import { count, magnitude, percent, size } from "../text.js";
import { bitsPerWeight, type TypeUse } from "../survey.js";

const HEADS = ["Type", "Tensors", "Weights", "Bytes", "Share of bytes", "Bits per weight", "What it is"];

export function typesView({ survey }: Opened, picture: (type: string) => void): HTMLElement {
  const { types, total } = survey.usage;
  if (!types.length) return h("p", { class: "empty" }, "The file has no tensors that can be read.");
  const rows = types.map((use, i) => line(use, total, i, picture));
  const sum = h(
    "tr",
    {},
    h("th", { scope: "row" }, "All"),
    ...[count(total.tensors), magnitude(total.elements), bytes(total), "100 %", bitsPerWeight(total), ""].map(
      (text, i) => h("td", { class: i < 5 ? "numeric" : "doc" }, text),
    ),
  );
  const table = h(
    "table",
    { class: "plain types" },
    h("caption", { class: "off-screen" }, "Types of the tensors"),
    h("thead", {}, h("tr", {}, ...HEADS.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
    h("tfoot", {}, sum),
  );
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Types" }, table);
}

function line(use: TypeUse, total: TypeUse, i: number, picture: (type: string) => void): HTMLElement {
  const info = findType(use.type);
  const name = info?.elements
    ? h("button", { type: "button", class: "link", onclick: () => picture(use.type) }, use.type)
    : use.type;
  const share = h("div", { class: "meter", "aria-hidden": "true" }, h("span", { class: `c${Math.min(i, 7)}` }));
  (share.firstChild as HTMLElement).style.width = `${total.bytes ? (100 * use.bytes) / total.bytes : 0}%`;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, name),
    h("td", { class: "numeric" }, count(use.tensors)),
    h("td", { class: "numeric" }, magnitude(use.elements)),
    h("td", { class: "numeric" }, bytes(use)),
    h("td", { class: "numeric" }, percent(use.bytes, total.bytes), share),
    h("td", { class: "numeric" }, bitsPerWeight(use)),
    h("td", { class: "doc" }, info?.doc ?? "a number that is not known here"),
  );
}

function bytes(use: TypeUse): string {
  return use.unknown ? `${size(use.bytes)} and more` : size(use.bytes);
}
