// One page from src/ and the generated TypeScript library: generated/pages/inspector.html, and
// PAGES.json with the hash of every file that it came from. The same bytes on every machine.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const out = process.argv[2] ?? join(root, "generated/pages");

// The page reads headers only: what decodes tensors stays out of it.
const headersOnly = {
  name: "headers-only",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/(blocks|writer)\.js$/ }, ({ importer }) =>
      importer.includes(join("generated", "typescript"))
        ? { path: join(here, "src/undecoded.ts") }
        : undefined,
    );
  },
};

const shared = { absWorkingDir: root, bundle: true, minify: true, write: false, charset: "utf8" };
const script = await build({
  ...shared,
  entryPoints: ["runtime/web/src/main.ts"],
  format: "iife",
  target: "es2022",
  legalComments: "none",
  metafile: true,
  plugins: [headersOnly],
  tsconfigRaw: {}, // nothing outside of the sources decides
});
const style = await build({ ...shared, entryPoints: ["runtime/web/src/style.css"], metafile: true });

const sha256 = (bytes, encoding = "hex") => createHash("sha256").update(bytes).digest(encoding);
const code = script.outputFiles[0].text.trim();
const css = style.outputFiles[0].text.trim();
if (code.includes("</script") || css.includes("</style")) throw new Error("an end tag inside");
const policy = [
  "default-src 'none'",
  `script-src 'sha256-${sha256(code, "base64")}'`,
  `style-src 'sha256-${sha256(css, "base64")}'`,
  "connect-src 'self' http: https:",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const used = [...Object.keys(script.metafile.inputs), ...Object.keys(style.metafile.inputs)];
const others = ["build.mjs", "package.json", "package-lock.json", "src/index.html"];
const library = "generated/typescript/package.json"; // says that its modules have no side effects
const paths = [...used, library, ...others.map((name) => `runtime/web/${name}`)]
  .map((path) => relative(root, join(root, path)).split(sep).join("/"))
  .sort();
const inputs = {};
for (const path of paths) inputs[path] = sha256(await readFile(join(root, path)));

const parts = { policy, style: css, script: code };
const frame = await readFile(join(here, "src/index.html"), "utf8");
const page = frame.replace(/<!--(policy|style|script)-->/g, (_, name) => parts[name]);
await mkdir(out, { recursive: true });
await writeFile(join(out, "inspector.html"), page);
const made = { "inspector.html": { sha256: sha256(page), inputs } };
await writeFile(join(out, "PAGES.json"), JSON.stringify(made, null, 1) + "\n");
console.log(`inspector.html: ${Math.round(page.length / 1024)} KiB`);
