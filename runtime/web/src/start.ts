/** The start: drop a file, pick one, give an address, or choose one that is served. */
import { fill, freshId, h } from "./dom.js";
import type { Chosen } from "./opened.js";
import { addressOf, messageOf } from "./problems.js";
import type { ServedFile } from "./served.js";
import { size, visible } from "./text.js";

export interface Start {
  readonly element: HTMLElement;
  /** Show the files that a server offers. */
  offer(files: readonly ServedFile[]): void;
  /** Make it small, once something is open. */
  shrink(): void;
}

export function startOf(open: (chosen: readonly Chosen[]) => void): Start {
  const pickId = freshId("pick");
  const pick = h("input", { type: "file", id: pickId, multiple: true, accept: ".gguf", class: "off-screen" });
  pick.addEventListener("change", () => {
    open(chosenFiles(pick.files));
    pick.value = "";
  });
  const help = h(
    "p",
    { class: "hint" },
    "Only the header is read",
    h("span", { class: "more" }, ", in this browser"),
    ". Nothing is uploaded.",
    h("span", { class: "more" }, " Drop all files of a split model together."),
  );
  const drop = h(
    "div",
    { class: "drop" },
    h("p", {}, h("span", { class: "invite" }, h("strong", {}, "Drop a .gguf file here"), " or "), h("label", { for: pickId, class: "button" }, "choose files"), pick),
    help,
  );
  const problem = h("p", { class: "problem-line", role: "alert" });
  const address = h("input", { type: "url", placeholder: "https://…/model.gguf", "aria-label": "Address of a file", required: true, autocomplete: "off" });
  const form = h(
    "form",
    { class: "address", novalidate: true },
    h("label", {}, h("span", {}, "Or open an address "), address),
    h("button", { type: "submit" }, "Open"),
    problem,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    fill(problem);
    try {
      open([chosenAddress(address.value)]);
    } catch (error) {
      fill(problem, messageOf(error));
      address.focus();
    }
  });
  const served = h("div", { class: "served", hidden: true });
  const element = h("section", { class: "start", "aria-label": "Open a file" }, served, drop, form);
  takeDrops(drop, open);
  return {
    element,
    offer(files) {
      served.hidden = false;
      fill(served, h("h2", {}, "Files on this machine"), files.length ? servedList(files, open) : h("p", {}, "The folder has no .gguf files."));
    },
    shrink() {
      element.classList.add("small");
    },
  };
}

/** A file behind an address; TypeError where it is none. */
export function chosenAddress(typed: string): Chosen {
  const url = addressOf(typed);
  let name = url.pathname.split("/").pop() || url.host;
  try {
    name = decodeURIComponent(name);
  } catch {
    // shown as it is
  }
  return { name: visible(name), url: url.href };
}

function chosenFiles(files: FileList | null | undefined): Chosen[] {
  return [...(files ?? [])].map((blob) => ({ name: visible(blob.name), blob }));
}

function servedList(files: readonly ServedFile[], open: (chosen: readonly Chosen[]) => void): HTMLElement {
  const items = files.map((file) => {
    const choose = () => open([{ name: visible(file.name), url: new URL(file.url, document.baseURI).href }]);
    return h(
      "li",
      {},
      h("button", { type: "button", class: "link", onclick: choose }, visible(file.name)),
      h("span", { class: "hint" }, ` ${size(file.size)}`),
    );
  });
  return h("ul", { class: "files-served" }, ...items);
}

/** The whole page takes files; the box only shows where. */
function takeDrops(box: HTMLElement, open: (chosen: readonly Chosen[]) => void): void {
  const over = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    box.classList.add("over");
  };
  const out = () => box.classList.remove("over");
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) out();
  });
  document.addEventListener("drop", (event) => {
    out();
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    open(chosenFiles(event.dataTransfer.files));
  });
}
