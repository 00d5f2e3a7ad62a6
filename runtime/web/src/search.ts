/** A search field that waits for a pause in typing. */
import { h } from "./dom.js";

const PAUSE = 120; // milliseconds

export function searchField(label: string, changed: (text: string) => void): HTMLElement {
  const input = h("input", { type: "search", placeholder: label, autocomplete: "off", spellcheck: "false" });
  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => changed(input.value), PAUSE);
  });
  return h("label", { class: "search" }, h("span", { class: "off-screen" }, label), input);
}
