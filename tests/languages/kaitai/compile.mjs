// Compiles Kaitai trees: node compile.mjs MODULES OUT TARGET NAME.json...
// TARGET is a target's name, or "all" for every one that ksc has. MODULES is the folder whose node_modules hold kaitai-struct-compiler. A line for each tree and
// target: tree, target, "ok" or what ksc says, separated by tabs.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";

const [modules, out, wanted, ...trees] = process.argv.slice(2);
const compiler = createRequire(join(resolve(modules), "here.js"))("kaitai-struct-compiler");

for (const path of trees) {
  const name = basename(path, ".json");
  for (const target of wanted === "all" ? compiler.languages : [wanted]) {
    try {
      const made = await compiler.compile(target, JSON.parse(readFileSync(path, "utf8")), null, false);
      for (const [file, text] of Object.entries(made)) {
        const place = join(out, target, file);
        mkdirSync(dirname(place), { recursive: true });
        writeFileSync(place, text);
      }
      console.log([name, target, "ok"].join("\t"));
    } catch (error) {
      const said = String(error?.message ?? error).replace(/\s+/g, " ");
      console.log([name, target, said].join("\t"));
    }
  }
}
