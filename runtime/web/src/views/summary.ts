/** The first tab: what this is, at a glance. */
import { FILE_TYPES } from "../../../../generated/inspector/data.js";
import { facts, h, type Child } from "../dom.js";
import { numberOf, textOf, type Opened } from "../opened.js";
import { partOf, type FileSet } from "../sets.js";
import { count, counted, cut, magnitude, percent, size, visible } from "../text.js";
import { bitsPerWeight } from "../survey.js";
import { verdictOf, VERDICTS } from "../verdict.js";

export function summaryView(opened: Opened, set: FileSet | undefined, go: (tab: string) => void): HTMLElement {
  const { file } = opened;
  const name = textOf(file, "general.name");
  return h(
    "div",
    { class: "summary" },
    h("h2", { class: "model" }, name ? cut(visible(name), 200) : opened.name),
    verdictLine(opened, set, go),
    set ? setLine(opened, set) : null,
    h("div", { class: "cards" }, card("Model", model(opened)), card("Weights", weights(opened)), card("File", container(opened))),
    typeBar(opened),
    h("p", { class: "read" }, readLine(opened)),
  );
}

function card(title: string, content: HTMLElement): HTMLElement {
  return h("section", { class: "card" }, h("h3", {}, title), content);
}

function verdictLine(opened: Opened, set: FileSet | undefined, go: (tab: string) => void): HTMLElement {
  const { verdict, findings } = verdictOf(opened, set);
  const button = h(
    "button",
    { type: "button", class: "link", onclick: () => go("findings") },
    findings ? `${counted(findings, "finding")}: what and why` : "What was checked",
  );
  return h(
    "p",
    { class: `verdict ${verdict}` },
    h("strong", {}, VERDICTS[verdict].title),
    ` ${VERDICTS[verdict].meaning} `,
    button,
  );
}

function setLine(opened: Opened, set: FileSet): HTMLElement {
  const part = partOf(opened);
  const number = part?.named?.number ?? (part?.number ?? 0) + 1;
  const missing = set.missing.length
    ? `Open here: ${counted(set.parts.length, "file")}; not here: ${few(set.missing)}. Drop the others too to check the set as a whole.`
    : "All files of the set are open.";
  return h("p", { class: "set" }, h("strong", {}, `File ${number} of ${count(set.count)} of a split model. `), missing);
}

function few(numbers: readonly number[]): string {
  const shown = numbers.slice(0, 12).join(", ");
  return numbers.length > 12 ? `${shown} and ${count(numbers.length - 12)} more` : shown;
}

function model({ file }: Opened): HTMLElement {
  const architecture = textOf(file, "general.architecture");
  const arch = architecture ?? "";
  const number = (key: string): Child => {
    const value = numberOf(file, `${arch}.${key}`);
    return value === undefined ? null : count(value);
  };
  const fileType = numberOf(file, "general.file_type");
  const tokens = file.metadata.stored("tokenizer.ggml.tokens");
  const text = (key: string): Child => {
    const value = textOf(file, key);
    return value === undefined ? null : cut(visible(value), 120);
  };
  return facts([
    ["Architecture", architecture === undefined ? "not said" : cut(visible(architecture), 60)],
    ["File type", fileType === undefined ? null : (FILE_TYPES[fileType] ?? `number ${fileType}`)],
    ["Kind", text("general.type")],
    ["Size label", text("general.size_label")],
    ["Context length", number("context_length")],
    ["Layers", number("block_count")],
    ["Embedding length", number("embedding_length")],
    ["Heads", heads(number("attention.head_count"), number("attention.head_count_kv"))],
    ["Experts", number("expert_count")],
    ["Vocabulary", tokens?.isArray ? counted(tokens.count, "token") : null],
    ["Tokenizer", text("tokenizer.ggml.model")],
    ["License", text("general.license")],
  ]);
}

function heads(all: Child, ofKeys: Child): Child {
  return all && ofKeys ? `${all} (${ofKeys} for keys and values)` : all;
}

function weights({ file, survey }: Opened): HTMLElement {
  const { total, types } = survey.usage;
  return facts([
    ["Parameters", file.tensors.length ? magnitude(total.elements) : "none"],
    ["Tensors", count(file.tensors.length)],
    ["Data", file.tensors.length ? `${size(total.bytes)}${total.unknown ? " and some of unknown size" : ""}` : null],
    ["Bits per weight", file.tensors.length ? bitsPerWeight(total) : null],
    ["Types", types.length ? types.map((use) => `${use.type} × ${count(use.tensors)}`).join(", ") : null],
  ]);
}

function container(opened: Opened): HTMLElement {
  const { file } = opened;
  return facts([
    ["Name", opened.name],
    ["Size", `${size(file.size)} (${count(file.size)} bytes)`],
    ["GGUF version", file.version ? String(file.version) : "not read"],
    ["Byte order", `${file.byteOrder}-endian`],
    ["Alignment", counted(file.alignment, "byte")],
    ["Metadata", counted(file.metadata.size, "key")],
    ["Header", `${count(file.headerEnd)} bytes`],
    ["Data starts at", file.tensors.length ? `byte ${count(file.dataOffset)}` : null],
  ]);
}

function typeBar({ survey }: Opened): HTMLElement | null {
  const { types, total } = survey.usage;
  if (!total.bytes) return null;
  const parts = types.filter((use) => use.bytes > 0);
  const bar = h("div", { class: "bar", "aria-hidden": "true" });
  const legend = h("ul", { class: "legend" });
  parts.forEach((use, i) => {
    const colour = `c${Math.min(i, 7)}`;
    const piece = h("span", { class: colour });
    piece.style.flexGrow = String(use.bytes / total.bytes);
    bar.append(piece);
    legend.append(
      h("li", {}, h("span", { class: `swatch ${colour}` }), `${use.type}: ${size(use.bytes)}, ${percent(use.bytes, total.bytes)}`),
    );
  });
  return h("section", { class: "share" }, h("h3", {}, "Bytes by type"), bar, legend);
}

function readLine({ file, tally }: Opened): string {
  const read = `${size(tally.bytes)} of ${size(file.size)} were read`;
  if (tally.withoutRanges) return `${read}, from the start, since the server knows no ranges. Nothing was uploaded.`;
  return `${read}: the header and what came with it. Nothing was uploaded.`;
}
