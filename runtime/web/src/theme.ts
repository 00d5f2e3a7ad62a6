/** Light or dark: as the system has it, until a person chooses. */
import { h } from "./dom.js";

const KEY = "ggufspec-theme";
const CHOICES = ["auto", "light", "dark"] as const;

export function themeChoice(): HTMLElement {
  const select = h(
    "select", { class: "theme" }, ...CHOICES.map((name) => h("option", { value: name }, name)),
  );
  const apply = (choice: string) => {
    if (choice === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", choice);
  };
  const kept = recall();
  select.value = kept;
  apply(kept);
  select.addEventListener("change", () => {
    apply(select.value);
    try {
      localStorage.setItem(KEY, select.value);
    } catch {
      // a page without storage forgets the choice
    }
  });
  return h("label", {}, "Colours ", select);
}

function recall(): string {
  try {
    const kept = localStorage.getItem(KEY);
    return CHOICES.find((name) => name === kept) ?? "auto";
  } catch {
    return "auto";
  }
}
