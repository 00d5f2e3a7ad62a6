// What the page can do beyond being read: themes, words at the plots' areas, sorting, filtering.
// Without it everything is there all the same.
"use strict";

(function themes() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  system.addEventListener("change", name);
  button.hidden = false;
  name();
})();

(function tips() {
  const tip = document.getElementById("tip");
  const words = new WeakMap();
  let shown = null;

  function wordsOf(mark) {
    if (!words.has(mark)) {
      const title = mark.querySelector("title");
      words.set(mark, title ? title.textContent : "");
      if (title) title.remove(); // else the browser shows it as well
    }
    return words.get(mark);
  }
  function hide() {
    if (shown) shown.classList.remove("on");
    shown = null;
    tip.hidden = true;
  }
  function show(mark, x, y) {
    if (shown !== mark) {
      hide();
      shown = mark;
      mark.classList.add("on");
      tip.textContent = wordsOf(mark);
    }
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, x - box.width / 2), innerWidth - box.width - 8);
    const above = y - box.height - 14;
    tip.style.left = left + "px";
    tip.style.top = (above > 8 ? above : y + 18) + "px";
  }
  for (const plot of document.querySelectorAll(".plot")) {
    const marks = [...plot.querySelectorAll(".mark")];
    if (!marks.length) continue;
    plot.tabIndex = 0;
    plot.setAttribute("aria-label", plot.getAttribute("aria-label") + ". Arrow keys walk through it.");
    const point = (event) => {
      const mark = event.target.closest(".mark");
      if (mark) show(mark, event.clientX, event.clientY); else hide();
    };
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    plot.addEventListener("blur", hide);
    let at = -1;
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") return hide();
      if (event.key === "Home") at = 0;
      else if (event.key === "End") at = marks.length - 1;
      else if (step) at = Math.min(Math.max(0, at + step), marks.length - 1);
      else return undefined;
      event.preventDefault();
      const box = marks[at].getBoundingClientRect();
      return show(marks[at], box.left + box.width / 2, box.top);
    });
  }
  addEventListener("scroll", hide, { passive: true });
})();

(function tensors() {
  const table = document.getElementById("tensor-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const values = rows.map((row) => [...row.cells].map((cell) => cell.textContent));
  const order = new Map(rows.map((row, number) => [row, number]));
  const number = (text) => {
    const value = Number(text.replace(/,/g, ""));
    return text === "equal" ? Infinity : Number.isNaN(value) ? -Infinity : value;
  };

  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending"
        || (head.classList.contains("n") && !head.hasAttribute("aria-sort"));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = head.classList.contains("n");
      const collator = new Intl.Collator("en", { numeric: true });
      const of = (row) => values[order.get(row)][column];
      const compare = numeric
        ? (a, b) => (number(of(a)) - number(of(b))) || 0
        : (a, b) => collator.compare(of(a), of(b));
      const sorted = [...rows].sort((a, b) => (down ? -1 : 1) * compare(a, b) || order.get(a) - order.get(b));
      body.append(...sorted);
    });
  });

  const filter = document.getElementById("filter");
  const count = document.getElementById("count");
  const texts = values.map((cells) => cells.slice(0, 3).join(" ").toLowerCase());
  function apply() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, index) => {
      row.hidden = !words.every((word) => texts[index].includes(word));
      left += !row.hidden;
    });
    count.textContent = left === rows.length ? `${left} tensors` : `${left} of ${rows.length} tensors`;
  }
  filter.addEventListener("input", apply);
  filter.closest(".controls").hidden = false;
  apply();
})();
