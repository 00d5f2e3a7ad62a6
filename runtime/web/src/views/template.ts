/** Chat templates: the text with its Jinja parts in colour, wrapped or not, to copy. */
import { copyButton } from "../copy.js";
import { fill, h } from "../dom.js";
import type { Opened } from "../opened.js";
import { count, counted, cut, visible, visibleLines } from "../text.js";

const KEY = "tokenizer.chat_template";
const MOST = 300_000; // bytes that are shown
const MOST_PARTS = 20_000;
const PARTS: Readonly<Record<string, readonly [end: string, kind: string]>> = {
  "#": ["#}", "comment"],
  "%": ["%}", "statement"],
  "{": ["}}", "output"],
};

/** Keys of the file that hold a chat template. */
export function templateKeys({ file }: Opened): string[] {
  const keys: string[] = [];
  for (const key of file.metadata.keys()) {
    const stored = key === KEY || key.startsWith(`${KEY}.`) ? file.metadata.stored(key) : undefined;
    if (stored && !stored.isArray && stored.element.kind === "string") keys.push(key);
  }
  return keys;
}

export function templateView(opened: Opened): HTMLElement {
  const keys = templateKeys(opened);
  if (!keys.length) {
    return h("p", { class: "empty" }, `The file has no chat template (no key ${KEY}).`);
  }
  const place = h("div");
  const show = (key: string) => fill(place, one(opened, key));
  show(keys[0]);
  if (keys.length === 1) return place;
  const select = h("select", {}, ...keys.slice(0, 200).map((key) => h("option", { value: key }, visible(cut(key, 100)))));
  select.addEventListener("change", () => show(select.value));
  return h("div", {}, h("p", { class: "tools" }, h("label", {}, "Template ", select)), place);
}

function one({ file }: Opened, key: string): HTMLElement {
  const stored = file.metadata.stored(key);
  if (!stored) return h("p", {}, "–");
  const { bytes } = stored;
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, MOST));
  const lines = text.split("\n").length;
  const shown = h("pre", { class: "template wrap", tabindex: 0, "aria-label": visible(cut(key, 100)) }, ...coloured(visibleLines(text)));
  const wrap = h("input", { type: "checkbox", checked: true });
  wrap.addEventListener("change", () => shown.classList.toggle("wrap", wrap.checked));
  const said = bytes.length > MOST
    ? `The first ${count(MOST)} of ${count(bytes.length)} bytes are shown; copying takes all.`
    : `${counted(lines, "line")}, ${counted(bytes.length, "byte")}`;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "tools" },
      copyButton("Copy", () => new TextDecoder().decode(bytes)),
      h("label", { class: "check" }, wrap, " Wrap lines"),
      h("span", { class: "hint" }, said),
    ),
    shown,
  );
}

/** Jinja's parts as elements. Reads the text once, however many parts have no end. */
function coloured(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  const endless = new Set<string>();
  let done = 0;
  for (let at = text.indexOf("{"); at >= 0 && parts.length < MOST_PARTS; at = text.indexOf("{", at)) {
    const [close, kind] = PARTS[text[at + 1]] ?? ["", ""];
    const end = close && !endless.has(close) ? text.indexOf(close, at + 2) : -1;
    if (end < 0) {
      endless.add(close);
      at++;
      continue;
    }
    parts.push(text.slice(done, at), h("span", { class: kind }, text.slice(at, end + 2)));
    done = at = end + 2;
  }
  parts.push(text.slice(done));
  return parts;
}
