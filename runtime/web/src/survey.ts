/** What the tensors of a file add up to. */
import type { GGUFFile, Tensor } from "../../../generated/typescript/src/index.js";
import { sliced } from "./slices.js";

/** Tensors of one type. */
export interface TypeUse {
  readonly type: string;
  tensors: number;
  elements: number;
  bytes: number;
  /** Whether the bytes of some are not known. */
  unknown: boolean;
}

export interface Usage {
  readonly types: readonly TypeUse[];
  readonly total: TypeUse;
}

/** What tables and sums need of every tensor: short texts and numbers, read once. */
export interface Survey {
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly elements: Float64Array;
  /** Of the data; -1 where nobody knows. */
  readonly bytes: Float64Array;
  readonly offsets: Float64Array;
  /** By type, the largest first, and all together. */
  readonly usage: Usage;
}

/** Look at every tensor, in slices. */
export async function surveyOf({ tensors }: GGUFFile): Promise<Survey> {
  const names: string[] = [];
  const types: string[] = [];
  const elements = new Float64Array(tensors.length);
  const bytes = new Float64Array(tensors.length);
  const offsets = new Float64Array(tensors.length);
  const uses = new Map<string, TypeUse>();
  const total = nothing("all");
  await sliced(tensors.length, (i) => {
    const tensor = tensors.at(i) as Tensor;
    names.push(tensor.name);
    types.push(tensor.type);
    elements[i] = tensor.dims.reduce((a, b) => a * b, 1);
    bytes[i] = tensor.nbytes ?? -1;
    offsets[i] = tensor.offset;
    let use = uses.get(types[i]);
    if (!use) uses.set(types[i], (use = nothing(types[i])));
    add(use, elements[i], bytes[i]);
    add(total, elements[i], bytes[i]);
  });
  const usage = { types: [...uses.values()].sort((a, b) => b.bytes - a.bytes), total };
  return { names, types, elements, bytes, offsets, usage };
}

function add(use: TypeUse, elements: number, bytes: number): void {
  use.tensors++;
  use.elements += elements;
  use.bytes += Math.max(0, bytes);
  use.unknown ||= bytes < 0;
}

function nothing(type: string): TypeUse {
  return { type, tensors: 0, elements: 0, bytes: 0, unknown: false };
}

/** Bits per weight as text. */
export function bitsPerWeight(use: { bytes: number; elements: number; unknown?: boolean }): string {
  if (!use.elements || use.unknown) return "–";
  return String(Number(((8 * use.bytes) / use.elements).toFixed(3)));
}
