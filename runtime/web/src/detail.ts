/** A window with all of something that a table shows a line of. */
import { fill, h, type Child } from "./dom.js";

const title = h("h2", { id: "detail-title", tabindex: -1 });
const content = h("div", { class: "content" });
const shut = h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Close");
const dialog = h(
  "dialog",
  { "aria-labelledby": "detail-title", class: "detail" },
  h("header", {}, title, shut),
  content,
);

/** The window; stands in the page once. */
export const detailWindow = dialog;

/** Show it with a heading and what is under it. */
export function showDetail(heading: string, ...children: Child[]): void {
  fill(title, heading);
  fill(content, ...children);
  if (!dialog.open) dialog.showModal();
  title.focus();
  dialog.scrollTop = 0;
}

/** A button that looks like the text it opens. */
export function opens(label: string, open: () => void): HTMLElement {
  return h("button", { type: "button", class: "open", onclick: open, title: label }, label);
}
