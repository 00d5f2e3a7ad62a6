/** A button that copies a text. */
import { fill, h } from "./dom.js";
import { say } from "./live.js";

export function copyButton(label: string, text: () => string): HTMLElement {
  const button = h("button", { type: "button" }, label);
  button.addEventListener("click", () => {
    void copied(text()).then((done) => {
      fill(button, done ? "Copied" : "The browser does not allow it");
      say(done ? "Copied" : "The browser does not allow copying");
      setTimeout(() => fill(button, label), 2000);
    });
  });
  return button;
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text); // a page from a file has no clipboard in some browsers
  }
}

function copiedBySelection(text: string): boolean {
  const area = h("textarea", { class: "off-screen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
