/** A table of any number of rows, of which only those in sight exist. */
import { fill, freshId, h, type Child } from "./dom.js";

const BEYOND = 12; // rows that exist above and below those in sight
const TALLEST = 16_000_000; // pixels; browsers cannot make boxes that are much taller

export interface Column {
  readonly name: string;
  /** Also the class of its cells. */
  readonly id: string;
  readonly numeric?: boolean;
  /** Called with a click on the head: sort by this column. */
  readonly sort?: () => void;
}

export interface TableOptions {
  readonly label: string;
  readonly columns: readonly Column[];
  /** What the cells of a row show; `row` counts from 0 among those that are listed. */
  readonly cells: (row: number) => readonly Child[];
  /** What stands there instead of rows, say after a search. */
  readonly empty: string;
}

/** The table: `element` for the page, `show` when the rows have changed. */
export interface VirtualTable {
  readonly element: HTMLElement;
  /** List `count` rows; keep the place unless told otherwise. */
  show(count: number, keepPlace?: boolean): void;
  /** Say which column the rows are sorted by. */
  sorted(column: string, descending: boolean): void;
  /** Bring a row into sight. */
  reveal(row: number): void;
}

export function virtualTable(options: TableOptions): VirtualTable {
  const { columns } = options;
  const id = freshId("table");
  const heads = columns.map((column, i) => headOf(column, i));
  const head = h("div", { role: "row", class: "row head", "aria-rowindex": 1 }, ...heads);
  const body = h("div", { role: "rowgroup", class: "rows" });
  const table = h(
    "div",
    { role: "table", id, "aria-label": options.label, "aria-colcount": columns.length, class: "table" },
    h("div", { role: "rowgroup", class: "heads" }, head),
    body,
  );
  const empty = h("p", { class: "empty", hidden: true }, options.empty);
  const element = h(
    "div",
    { class: "scroller", tabindex: 0, role: "region", "aria-label": `${options.label}, scrollable` },
    table,
    empty,
  );
  const rows = new Map<number, HTMLElement>();
  let count = 0;
  let height = 0;

  const rowHeight = (): number => parseFloat(getComputedStyle(element).getPropertyValue("--row")) || 32;

  /** How many rows a pixel stands for, where the box would be too tall. */
  const squeeze = (): number => Math.max(1, (count * height) / TALLEST);

  function draw(): void {
    if (!element.clientHeight) return; // not in sight
    const step = squeeze();
    const seen = Math.ceil(element.clientHeight / height);
    const top = Math.floor((element.scrollTop * step) / height);
    const first = Math.max(0, Math.min(top, count - seen) - BEYOND);
    const last = Math.min(count, top + seen + BEYOND);
    for (const [row, line] of rows) {
      if ((row < first || row >= last) && !line.contains(document.activeElement)) {
        line.remove();
        rows.delete(row);
      }
    }
    let before: Element | null = null;
    for (let row = first; row < last; row++) {
      let line = rows.get(row);
      if (!line) {
        line = lineOf(row);
        rows.set(row, line);
        if (before) before.after(line);
        else body.prepend(line);
      }
      const shift = step === 1 ? row * height : element.scrollTop + (row - top) * height;
      line.style.transform = `translateY(${shift}px)`;
      before = line;
    }
  }

  function lineOf(row: number): HTMLElement {
    const cells = options.cells(row).map((child, i) =>
      h("div", { role: "cell", class: cellClass(columns[i]), "aria-colindex": i + 1 }, child),
    );
    const parity = row % 2 ? "row odd" : "row";
    return h("div", { role: "row", class: parity, "aria-rowindex": row + 2 }, ...cells);
  }

  function layOut(): void {
    height = rowHeight();
    body.style.height = `${Math.min(count * height, TALLEST)}px`;
    draw();
  }

  let asked = 0;
  element.addEventListener("scroll", () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      draw();
    });
  }, { passive: true });
  new ResizeObserver(layOut).observe(element);

  return {
    element,
    show(rowCount, keepPlace = false) {
      count = rowCount;
      rows.clear();
      fill(body);
      table.setAttribute("aria-rowcount", String(count + 1));
      empty.hidden = count > 0;
      if (!keepPlace) element.scrollTop = 0;
      layOut();
    },
    sorted(column, descending) {
      columns.forEach((entry, i) => {
        const order = entry.id === column ? (descending ? "descending" : "ascending") : null;
        if (order) heads[i].setAttribute("aria-sort", order);
        else heads[i].removeAttribute("aria-sort");
      });
    },
    reveal(row) {
      element.scrollTop = (row * height) / squeeze();
      draw();
    },
  };
}

function headOf(column: Column, i: number): HTMLElement {
  const label = column.sort
    ? h("button", { type: "button", class: "sort", onclick: column.sort }, column.name)
    : column.name;
  return h("div", { role: "columnheader", class: cellClass(column), "aria-colindex": i + 1 }, label);
}

function cellClass(column: Column): string {
  return column.numeric ? `cell ${column.id} numeric` : `cell ${column.id}`;
}
