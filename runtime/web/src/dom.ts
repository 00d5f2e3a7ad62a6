/** Elements. Text only ever becomes a text node: what a file says is never markup. */
export type Child = Node | string | number | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, `on…` listeners and children. `true` is an attribute without value. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, Value> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(
  tag: string, attributes: Record<string, Value> = {}, ...children: Child[]
): SVGElement {
  return filled(document.createElementNS(SVG, tag) as SVGElement, attributes, children);
}

function filled<E extends Element>(
  element: E, attributes: Record<string, Value>, children: Child[],
): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...nodes(children));
  return element;
}

/** Put children in the place of those that an element has. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...nodes(children));
}

function nodes(children: Child[]): (Node | string)[] {
  return children
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Facts as a list of terms. */
export function facts(pairs: readonly (readonly [string, Child])[]): HTMLElement {
  const rows = pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)));
  return h("dl", { class: "facts" }, ...rows);
}

let numbers = 0;

/** An id that no other element has. */
export function freshId(stem: string): string {
  return `${stem}-${++numbers}`;
}
