/** Tabs by the ARIA pattern: arrows move, Home and End jump, the panel is the next stop. */
import { fill, freshId, h } from "./dom.js";

export interface Tab {
  readonly id: string;
  readonly name: string;
  /** A number or word behind the name. */
  readonly note?: string;
  /** Makes the panel's content when it is first shown. */
  readonly content: () => HTMLElement;
}

export interface Tabs {
  readonly element: HTMLElement;
  select(id: string, focus?: boolean): void;
}

export function tabsOf(label: string, tabs: readonly Tab[], selected: string, chosen: (id: string) => void): Tabs {
  const buttons = new Map<string, HTMLButtonElement>();
  const panels = new Map<string, HTMLElement>();
  const made = new Set<string>();
  for (const tab of tabs) {
    const tabId = freshId("tab");
    const panelId = freshId("panel");
    const button = h(
      "button",
      { type: "button", role: "tab", id: tabId, "aria-controls": panelId, "data-tab": tab.id },
      tab.name,
      tab.note ? h("span", { class: "note" }, tab.note) : null,
    );
    button.addEventListener("click", () => select(tab.id));
    buttons.set(tab.id, button);
    const panel = { role: "tabpanel", id: panelId, "aria-labelledby": tabId, tabindex: 0, hidden: true };
    panels.set(tab.id, h("section", { ...panel, "data-panel": tab.id }));
  }

  function select(id: string, focus = false): void {
    for (const tab of tabs) {
      const own = tab.id === id;
      const button = buttons.get(tab.id) as HTMLButtonElement;
      const panel = panels.get(tab.id) as HTMLElement;
      button.setAttribute("aria-selected", String(own));
      button.tabIndex = own ? 0 : -1;
      panel.hidden = !own;
      if (!own) continue;
      if (!made.has(id)) {
        made.add(id);
        fill(panel, tab.content());
      }
      if (focus) button.focus();
      button.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    chosen(id);
  }

  const list = h("div", { role: "tablist", "aria-label": label, class: "tabs" }, ...buttons.values());
  list.addEventListener("keydown", (event) => {
    const now = tabs.findIndex((tab) => buttons.get(tab.id)?.getAttribute("aria-selected") === "true");
    const next = {
      ArrowRight: (now + 1) % tabs.length,
      ArrowLeft: (now + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    select(tabs[next].id, true);
  });
  const element = h("div", { class: "tabbed" }, list, ...panels.values());
  select(tabs.some((tab) => tab.id === selected) ? selected : tabs[0].id);
  return { element, select };
}
