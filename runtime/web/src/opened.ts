/** Opening: one file, what is in it, and what is wrong with it. */
import {
  examine, type GGUFFile, type MetadataValue, type Profile, type Report,
} from "../../../generated/typescript/src/index.js";
import { surveyOf, type Survey } from "./survey.js";
import { HeaderSource, type Tally } from "./source.js";

const MOST_HEADER = 512 << 20;

/** A file that was opened. */
export interface Opened {
  readonly name: string;
  readonly file: GGUFFile;
  readonly survey: Survey;
  readonly tally: Tally;
  readonly reports: Map<Profile, Report>;
}

/** What a person chose: a file or an address. */
export type Chosen = { readonly name: string; readonly blob: Blob } | { readonly name: string; readonly url: string };

/** Read the header of a file. SourceError where bytes cannot be had; never throws for what they say. */
export async function openChosen(
  chosen: Chosen, signal: AbortSignal, progress: (bytes: number) => void,
): Promise<Opened> {
  const source = "blob" in chosen
    ? HeaderSource.ofBlob(chosen.blob, progress)
    : await HeaderSource.ofUrl(chosen.url, signal, progress);
  try {
    const { file, reports } = await looked(source, signal);
    const survey = await surveyOf(file);
    return { name: chosen.name, file, survey, tally: source.tally, reports };
  } finally {
    await source.close(); // what was read stays
  }
}

/** By the strict profile; where that finds errors also by the lenient one, which may read on. */
async function looked(
  source: HeaderSource, signal: AbortSignal,
): Promise<{ file: GGUFFile; reports: Map<Profile, Report> }> {
  const reports = new Map<Profile, Report>();
  const look = async (profile: Profile): Promise<GGUFFile> => {
    const { file, report } = await examine(source, { profile, maxHeaderBytes: MOST_HEADER });
    signal.throwIfAborted();
    reports.set(profile, report);
    return file;
  };
  const file = await look("strict");
  const broken = reports.get("strict")?.verdict === "invalid";
  return { file: broken ? await look("lenient") : file, reports };
}

/** What a profile has to say; looked at once. */
export async function reportOf(opened: Opened, profile: Profile): Promise<Report> {
  const known = opened.reports.get(profile);
  if (known) return known;
  const { source } = opened.file; // the header is in memory
  const { report } = await examine(source, { profile, maxHeaderBytes: MOST_HEADER });
  opened.reports.set(profile, report);
  return report;
}

/** The value of a key if it is a text. */
export function textOf(file: GGUFFile, key: string): string | undefined {
  const value = scalar(file, key);
  return typeof value === "string" ? value : undefined;
}

/** The value of a key if it is a whole number that a double holds. */
export function numberOf(file: GGUFFile, key: string): number | undefined {
  const value = scalar(file, key);
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

function scalar(file: GGUFFile, key: string): MetadataValue | undefined {
  const stored = file.metadata.stored(key);
  return stored && !stored.isArray && stored.end - stored.start < 1 << 20 ? stored.decode() : undefined;
}
