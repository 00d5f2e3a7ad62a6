/** Tensors: a table to sort and filter; a window has the exact numbers of one. */
import type { Tensor } from "../../../../generated/typescript/src/index.js";
import { opens, showDetail } from "../detail.js";
import { facts, h } from "../dom.js";
import { say } from "../live.js";
import type { Opened } from "../opened.js";
import { searchField } from "../search.js";
import { count, counted, cut, size, visible } from "../text.js";
import { bitsPerWeight, type Survey } from "../survey.js";
import { virtualTable } from "../virtual.js";

type Column = "number" | "name" | "type" | "shape" | "elements" | "bytes" | "offset";

export function tensorsView({ file, survey }: Opened): HTMLElement {
  const { tensors } = file;
  if (!tensors.length) return h("p", { class: "empty" }, "The file has no tensors that can be read.");
  let order: Uint32Array = Uint32Array.from({ length: tensors.length }, (_, i) => i);
  let sortedBy: Column = "number";
  let descending = false;
  let wanted = "";
  let type = "";
  let keys: string[] | undefined; // names with numbers of equal width

  const head = (id: Column, name: string, numeric = false) => ({ id, name, numeric, sort: () => sort(id) });
  const table = virtualTable({
    label: "Tensors",
    columns: [
      head("number", "#", true),
      head("name", "Name"),
      head("type", "Type"),
      { id: "shape", name: "Shape" },
      head("elements", "Elements", true),
      head("bytes", "Bytes", true),
      head("offset", "Offset in data", true),
    ],
    cells: (row) => {
      const i = order[row];
      const tensor = tensors.at(i) as Tensor;
      const name = visible(cut(survey.names[i], 500)) || "(empty)";
      return [
        i,
        opens(name, () => showTensor(tensor, i)),
        tensor.type,
        tensor.shape.join(" × ") || "scalar",
        count(survey.elements[i]),
        survey.bytes[i] < 0 ? "unknown" : size(survey.bytes[i]),
        count(survey.offsets[i]),
      ];
    },
    empty: "No tensor is named so.",
  });

  function sort(column: Column): void {
    descending = column === sortedBy ? !descending : column === "elements" || column === "bytes";
    sortedBy = column;
    arrange();
    say(`Sorted by ${column}, ${descending ? "descending" : "ascending"}`);
  }

  function arrange(): void {
    const listed: number[] = [];
    for (let i = 0; i < tensors.length; i++) {
      if (type && survey.types[i] !== type) continue;
      if (!wanted || visible(survey.names[i]).toLowerCase().includes(wanted)) listed.push(i);
    }
    if (sortedBy === "name") keys ??= survey.names.map(naturalKey);
    const compare = comparer(survey, sortedBy, keys ?? []);
    order = Uint32Array.from(listed.sort(compare));
    if (descending) order.reverse();
    table.sorted(sortedBy, descending);
    table.show(order.length);
    told.textContent = order.length === tensors.length
      ? counted(order.length, "tensor") : `${count(order.length)} of ${counted(tensors.length, "tensor")}`;
  }

  const told = h("span", { class: "hint", role: "status" });
  const search = searchField("Filter by name", (text) => {
    wanted = text.toLowerCase();
    arrange();
  });
  const types = survey.usage.types.map((use) => use.type);
  const choice = h(
    "select", {}, h("option", { value: "" }, "all types"), ...types.map((name) => h("option", { value: name }, name)),
  );
  choice.addEventListener("change", () => {
    type = choice.value;
    arrange();
  });
  arrange();
  const tools = h("div", { class: "tools" }, search, h("label", {}, "Type ", choice), told);
  return h("div", { class: "listing" }, tools, table.element);
}

/** `blk.2` before `blk.10`. */
function naturalKey(name: string): string {
  return name.replace(/\d{1,12}/g, (digits) => digits.padStart(12, "0"));
}

function comparer(known: Survey, column: Column, keys: readonly string[]): (a: number, b: number) => number {
  const text = column === "name" ? keys : column === "type" ? known.types : undefined;
  if (text) return (a, b) => (text[a] < text[b] ? -1 : text[a] > text[b] ? 1 : a - b);
  const numbers = { elements: known.elements, bytes: known.bytes, offset: known.offsets }[column as string];
  return numbers ? (a, b) => numbers[a] - numbers[b] || a - b : (a, b) => a - b;
}

function showTensor(tensor: Tensor, i: number): void {
  const { dims, offset, nbytes } = tensor.exact;
  const { info } = tensor;
  const bytes = nbytes === undefined ? "unknown" : `${count(nbytes)} bytes`;
  const elements = dims.reduce((a, b) => a * b, 1n);
  showDetail(
    visible(cut(tensor.name, 2000)) || "(empty)",
    facts([
      ["Number", String(i)],
      ["Type", `${tensor.type} (number ${tensor.typeId})${info ? `: ${info.doc}` : ""}`],
      ["Shape", `${[...dims].reverse().join(" × ") || "scalar"} (rows first, as in NumPy)`],
      ["As stored", `${dims.join(" × ") || "scalar"} (the fastest axis first)`],
      ["Elements", count(elements)],
      ["Size", bytes],
      ["Bits per weight", bitsPerWeight({ bytes: Number(nbytes ?? 0n), elements: Number(elements), unknown: nbytes === undefined })],
      ["Block", info?.elements ? `${counted(info.elements, "element")} in ${counted(info.bytes, "byte")}` : null],
      ["In the data section", `from byte ${count(offset)}`],
      ["In the file", `from byte ${count(tensor.fileOffset)}`],
    ]),
  );
}
