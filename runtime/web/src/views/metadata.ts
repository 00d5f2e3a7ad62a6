/** Keys and values: a table with search; a window has all of a long text or array. */
import type { StoredValue } from "../../../../generated/typescript/src/index.js";
import { copyButton } from "../copy.js";
import { opens, showDetail } from "../detail.js";
import { fill, h } from "../dom.js";
import { say } from "../live.js";
import type { Opened } from "../opened.js";
import { searchField } from "../search.js";
import { count, counted, cut, visible, visibleLines } from "../text.js";
import { aboutKey, elementsOf, lineOf } from "../values.js";
import { virtualTable } from "../virtual.js";

const PAGE = 100; // elements of an array on one page
const LONGEST_KEY = 1000; // characters of a key that are shown
const PIECE = 20_000; // bytes of a text that are shown at a time
const MOST_LINES = 20_000; // keys whose values are searched too

export function metadataView({ file }: Opened): HTMLElement {
  const entries = [...file.metadata.storedEntries()];
  let listed = entries.map((_, i) => i);
  const table = virtualTable({
    label: "Metadata",
    columns: [
      { name: "Key", id: "key" },
      { name: "Type", id: "type" },
      { name: "Value", id: "value" },
    ],
    cells: (row) => {
      const [key, stored] = entries[listed[row]];
      return [opens(shownKey(key), () => showValue(key, stored)), typeText(stored), lineOf(key, stored)];
    },
    empty: entries.length ? "No key or value has that in it." : "The file has no metadata that can be read.",
  });
  const search = searchField("Search keys and values", (text) => {
    const wanted = text.toLowerCase();
    const alsoValues = entries.length <= MOST_LINES;
    listed = entries.flatMap(([key, stored], i) => {
      const hit = shownKey(key).toLowerCase().includes(wanted)
        || (alsoValues && lineOf(key, stored).toLowerCase().includes(wanted));
      return hit ? [i] : [];
    });
    table.show(listed.length);
    note.textContent = `${count(listed.length)} of ${counted(entries.length, "key")}`;
    say(note.textContent);
  });
  table.show(listed.length);
  const note = h("span", { class: "hint" }, `${counted(entries.length, "key")}. A key opens all of its value.`);
  return h("div", { class: "listing" }, h("div", { class: "tools" }, search, note), table.element);
}

function shownKey(key: string): string {
  return visible(cut(key, LONGEST_KEY));
}

function typeText(stored: StoredValue): string {
  return stored.isArray ? `${stored.element.name}[${count(stored.count)}]` : stored.element.name;
}

function showValue(key: string, stored: StoredValue): void {
  const about = aboutKey(key);
  const content = stored.isArray ? arrayPages(stored)
    : stored.element.kind === "string" ? longText(stored)
    : h("pre", { class: "all", tabindex: 0 }, lineOf(key, stored));
  const note = about?.doc ? h("p", { class: "hint" }, about.doc) : null;
  const where = `${stored.type}, bytes ${count(stored.start)} to ${count(stored.end)}`;
  showDetail(shownKey(key), h("p", { class: "hint" }, where), note, content);
}

/** A text in pieces, so that one of a gigabyte does not stop the page. */
function longText(stored: StoredValue): HTMLElement {
  const { bytes } = stored;
  const text = h("pre", { class: "all wrap", tabindex: 0 });
  const more = h("button", { type: "button" });
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let shown = 0;
  const go = () => {
    const end = Math.min(bytes.length, shown + PIECE);
    text.append(visibleLines(decoder.decode(bytes.subarray(shown, end), { stream: end < bytes.length })));
    shown = end;
    more.hidden = shown === bytes.length;
    fill(more, `Show more (${count(bytes.length - shown)} bytes are left)`);
  };
  more.addEventListener("click", go);
  go();
  const whole = copyButton("Copy", () => new TextDecoder().decode(bytes));
  return h("div", {}, bytes.length ? text : h("p", { class: "hint" }, "An empty text."), more, whole);
}

function arrayPages(stored: StoredValue): HTMLElement {
  const elements = elementsOf(stored);
  const pages = Math.max(1, Math.ceil(elements.length / PAGE));
  const list = h("ol", { class: "element-list", tabindex: 0, "aria-label": "Elements" });
  const place = h("span", { class: "hint", role: "status" });
  const input = h("input", { type: "number", min: 0, max: Math.max(0, elements.length - 1), value: 0 });
  let page = 0;
  const show = (wanted: number) => {
    page = Math.max(0, Math.min(pages - 1, wanted));
    const first = page * PAGE;
    const end = Math.min(elements.length, first + PAGE);
    list.setAttribute("start", String(first));
    const items: HTMLElement[] = [];
    for (let i = first; i < end; i++) items.push(h("li", { value: i }, elements.at(i)));
    fill(list, ...items);
    list.scrollTop = 0;
    back.disabled = page === 0;
    next.disabled = page === pages - 1;
    fill(place, elements.length ? `${count(first)} to ${count(end - 1)} of ${count(elements.length)}` : "An empty array");
  };
  const back = h("button", { type: "button", onclick: () => show(page - 1) }, "Back");
  const next = h("button", { type: "button", onclick: () => show(page + 1) }, "Next");
  input.addEventListener("change", () => show(Math.floor(Number(input.value) / PAGE)));
  show(0);
  const jump = h("label", {}, "Go to ", input);
  return h("div", { class: "paged" }, h("div", { class: "tools" }, back, next, jump, place), list);
}
