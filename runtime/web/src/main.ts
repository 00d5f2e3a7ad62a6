/** The inspector: opens files and shows them in tabs. */
import { SPEC_VERSION } from "../../../generated/typescript/src/index.js";
import { detailWindow } from "./detail.js";
import { fill, h } from "./dom.js";
import { say, status } from "./live.js";
import { openChosen, type Chosen, type Opened } from "./opened.js";
import { messageOf, problemOf } from "./problems.js";
import { servedFiles } from "./served.js";
import { setOf } from "./sets.js";
import { breathe } from "./slices.js";
import { chosenAddress, startOf } from "./start.js";
import { tabsOf, type Tab, type Tabs } from "./tabs.js";
import { count, counted, cut, size } from "./text.js";
import { themeChoice } from "./theme.js";
import { verdictOf, VERDICTS } from "./verdict.js";
import { blocksView } from "./views/blocks.js";
import { findingsView } from "./views/findings.js";
import { metadataView } from "./views/metadata.js";
import { summaryView } from "./views/summary.js";
import { templateKeys, templateView } from "./views/template.js";
import { tensorsView } from "./views/tensors.js";
import { tokensView } from "./views/tokens.js";
import { typesView } from "./views/types.js";

const start = startOf((chosen) => void open(chosen));
const progress = h("div", { class: "progress" });
const files = h("nav", { class: "files", "aria-label": "Open files", hidden: true });
const view = h("div", { class: "view" });
let all: Opened[] = [];
let shown: Opened | undefined;
let tab = "summary";
let running = new AbortController();

/** Open files one after the other, show the first; what was open goes. */
async function open(chosen: readonly Chosen[]): Promise<void> {
  if (!chosen.length) return;
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const opened: Opened[] = [];
  const problems: HTMLElement[] = [];
  for (const one of chosen) {
    tellProgress(one, 0);
    await breathe();
    try {
      opened.push(await openChosen(one, signal, (bytes) => tellProgress(one, bytes)));
    } catch (error) {
      if (signal.aborted) return;
      problems.push(problemCard(one, error));
    }
  }
  if (signal.aborted) return;
  fill(progress, ...problems);
  if (!opened.length) {
    say("Nothing could be opened");
    return;
  }
  all = opened;
  show(opened[0]);
}

function tellProgress(one: Chosen, bytes: number): void {
  const read = bytes ? `: ${size(bytes)} read` : "";
  fill(
    progress,
    h("p", {}, `Opening ${cut(one.name, 80)}${read} … `, h("button", { type: "button", onclick: cancel }, "Cancel")),
  );
  if (!bytes) say(`Opening ${cut(one.name, 80)}`);
}

function cancel(): void {
  running.abort();
  fill(progress);
  say("Cancelled");
}

function problemCard(one: Chosen, error: unknown): HTMLElement {
  const { title, advice, detail } = problemOf(error);
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, h("strong", {}, `${title}. `), advice),
    h("p", { class: "hint" }, `${cut(one.name, 120)} – ${cut(detail, 400)}`),
  );
}

function tellProblem(error: unknown): void {
  fill(progress, h("p", { class: "problem", role: "alert" }, messageOf(error)));
}

function show(opened: Opened): void {
  shown = opened;
  document.title = `${opened.name} – GGUF inspector`;
  start.shrink();
  showFiles();
  fill(view, tabbed(opened).element);
  const { verdict, findings } = verdictOf(opened, setOf(opened, all));
  const { file } = opened;
  say(
    `${opened.name} is open: ${counted(file.metadata.size, "key")}, ${counted(file.tensors.length, "tensor")}. `
      + `${VERDICTS[verdict].title} ${counted(findings, "finding")}.`,
  );
}

function showFiles(): void {
  files.hidden = all.length < 2;
  const buttons = all.map((one) =>
    h(
      "button",
      { type: "button", "aria-current": one === shown ? "true" : null, onclick: () => show(one) },
      cut(one.name, 80),
    ),
  );
  fill(files, ...buttons);
}

function tabbed(opened: Opened): Tabs {
  const { file, survey } = opened;
  const set = setOf(opened, all);
  const { usage } = survey;
  const tokens = file.metadata.stored("tokenizer.ggml.tokens");
  const { findings } = verdictOf(opened, set);
  const blocks = blocksView(usage.types.map((use) => use.type));
  const go = (id: string) => tabs.select(id, true);
  const picture = (type: string) => {
    blocks.show(type);
    go("blocks");
  };
  const number = (value: number): string | undefined => (value ? count(value) : undefined);
  const list: Tab[] = [
    { id: "summary", name: "Summary", content: () => summaryView(opened, set, go) },
    { id: "metadata", name: "Metadata", note: number(file.metadata.size), content: () => metadataView(opened) },
    { id: "template", name: "Chat template", note: templateKeys(opened).length ? undefined : "none", content: () => templateView(opened) },
    { id: "tokens", name: "Tokens", note: tokens?.isArray ? number(tokens.count) : "none", content: () => tokensView(opened) },
    { id: "tensors", name: "Tensors", note: number(file.tensors.length) ?? "none", content: () => tensorsView(opened) },
    { id: "types", name: "Types", note: number(usage.types.length), content: () => typesView(opened, picture) },
    { id: "findings", name: "Findings", note: number(findings), content: () => findingsView(opened, set) },
    { id: "blocks", name: "Block layouts", content: () => blocks.element },
  ];
  const tabs = tabsOf("Parts of the file", list, tab, (id) => (tab = id));
  return tabs;
}

/** An address in the page's own, behind `#url=` or `?url=`. */
function addressed(): Chosen | undefined {
  const { hash, search } = location;
  const asked = new URLSearchParams(hash.slice(1)).get("url") ?? new URLSearchParams(search).get("url");
  return asked ? chosenAddress(asked) : undefined;
}

async function begin(): Promise<void> {
  document.body.append(
    h("a", { href: "#main", class: "skip" }, "Skip to the content"),
    h(
      "header",
      { class: "top" },
      h("h1", {}, "GGUF inspector"),
      h("p", { class: "hint" }, `Specification ${SPEC_VERSION}`),
      themeChoice(),
    ),
    h("main", { id: "main", tabindex: -1 }, start.element, progress, files, view),
    status,
    detailWindow,
  );
  fill(view, h("h2", { class: "alone" }, "Block layouts"), blocksView([]).element);
  const fromAddress = () => {
    try {
      const chosen = addressed();
      if (chosen) void open([chosen]);
    } catch (error) {
      tellProblem(error);
    }
  };
  addEventListener("hashchange", fromAddress);
  fromAddress();
  try {
    const served = await servedFiles();
    if (served) start.offer(served);
  } catch (error) {
    tellProblem(error);
  }
}

void begin();
