// Chromium for the tests: one command a line on standard input, one answer a line.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, executablePath] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const axe = require("axe-core");

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let context;
let page;
let seen;

/** Runs in the page: notes long tasks, and anything that markup of a file would call. */
function watch() {
  window.long = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.long.push(Math.round(entry.duration));
  }).observe({ type: "longtask", buffered: true });
}

const commands = {
  async page({ url, scheme = "light", width = 1280, height = 800 }) {
    await context?.close();
    context = await browser.newContext({ colorScheme: scheme, viewport: { width, height } });
    page = await context.newPage();
    seen = { requests: [], errors: [] };
    page.on("request", (request) => seen.requests.push(request.url()));
    page.on("pageerror", (error) => seen.errors.push(error.message));
    page.on("console", (line) => {
      if (line.type() === "error") seen.errors.push(line.text());
    });
    page.on("dialog", (dialog) => {
      seen.errors.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.addInitScript(watch);
    await page.goto(url);
  },
  choose: ({ paths }) => page.setInputFiles("input[type=file]", paths),
  /** Files as a person drops them; a field of the test's own brings them into the page. */
  async drop({ paths }) {
    const field = await page.evaluateHandle(() => {
      const made = document.createElement("input");
      made.type = "file";
      made.multiple = true;
      return made;
    });
    await field.asElement().setInputFiles(paths);
    await field.evaluate((made) => {
      const dataTransfer = new DataTransfer();
      for (const file of made.files) dataTransfer.items.add(file);
      const target = document.querySelector("main");
      for (const type of ["dragover", "drop"]) {
        target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
      }
    });
  },
  wait: async ({ selector }) => void (await page.waitForSelector(selector, { timeout: 30_000 })),
  /** The page's policy forbids what Playwright's own waiting for a script does. */
  async until({ script }) {
    const last = Date.now() + 30_000;
    while (!(await page.evaluate(script))) {
      if (Date.now() > last) throw new Error(`never true: ${script}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  },
  click: ({ selector }) => page.click(selector),
  fill: ({ selector, text }) => page.fill(selector, text),
  select: async ({ selector, value }) => void (await page.selectOption(selector, value)),
  press: async ({ keys }) => {
    for (const key of keys) await page.keyboard.press(key);
  },
  run: ({ script }) => page.evaluate(script),
  async axe() {
    await page.evaluate(axe.source);
    return page.evaluate(async () => {
      const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
      return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map((n) => n.html).slice(0, 3) }));
    });
  },
  shot: async ({ path }) => void (await page.screenshot({ path })),
  seen: async () => ({ ...seen, long: await page.evaluate(() => window.long) }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...options } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await commands[command](options)) ?? null };
  } catch (error) {
    answer = { error: String(error.stack ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await browser.close();
