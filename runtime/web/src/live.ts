/** What is said aloud: one line for what happens, one for what is wrong. */
import { fill, h } from "./dom.js";

export const status = h("p", { role: "status", "aria-live": "polite", class: "status" });

let waiting = 0;

/** Say what has happened; soon after one another, only the last is said. */
export function say(text: string): void {
  clearTimeout(waiting);
  waiting = setTimeout(() => fill(status, text), 150);
}
