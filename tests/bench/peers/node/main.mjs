// `time open` of the conformance protocol (tests/languages), answered by other people's packages.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { gguf } from "@huggingface/gguf";
import { ggufMetadata } from "hyllama";

const peer = process.argv[2];

async function open(path) {
  const { metadata, tensorInfos } =
    peer === "hyllama"
      ? ggufMetadata(Uint8Array.from(readFileSync(path)).buffer)
      : await gguf(path, { allowLocalFile: true });
  let seen = 0;
  for (const name of Object.keys(metadata)) seen += name.length;
  for (const info of tensorInfos) seen += info.name.length + info.shape.length;
  if (!seen) throw new Error(`nothing in ${path}`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const [, what, path, count] = line.split("\t");
  if (what !== "open") {
    console.log("fail\tnot offered\nend");
    continue;
  }
  let best = Infinity;
  for (let i = 0; i < Number(count); i++) {
    const start = performance.now();
    await open(path);
    best = Math.min(best, performance.now() - start);
  }
  console.log(`seconds\t${best / 1000}\nend`);
}
