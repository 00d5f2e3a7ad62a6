/** The files that `ggufspec serve` offers, where it is what serves this page. */

export interface ServedFile {
  readonly name: string;
  readonly size: number;
  readonly url: string;
}

/** Whether it is. */
export function isServed(): boolean {
  return document.querySelector('meta[name="ggufspec-serve"]')?.getAttribute("content") === "1";
}

/** The list; undefined where nobody offers one. Error where it cannot be had. */
export async function servedFiles(): Promise<ServedFile[] | undefined> {
  if (!isServed()) return undefined;
  const response = await fetch("api/files", { credentials: "same-origin", cache: "no-store" });
  if (!response.ok) throw new Error(`api/files: the server answers ${response.status}`);
  const list: unknown = await response.json();
  if (!Array.isArray(list)) throw new Error("api/files: not a list");
  return list.filter(isFile);
}

function isFile(entry: unknown): entry is ServedFile {
  const { name, size, url } = (entry ?? {}) as Record<string, unknown>;
  return typeof name === "string" && typeof size === "number" && typeof url === "string";
}
