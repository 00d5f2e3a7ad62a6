/** The verdict over a file, that of its split set with it. */
import type { Report } from "../../../generated/typescript/src/index.js";
import type { Opened } from "./opened.js";
import type { FileSet } from "./sets.js";

export const VERDICTS: Readonly<Record<Report["verdict"], { title: string; meaning: string }>> = {
  valid: { title: "Valid.", meaning: "The structure of the file breaks no rule." },
  warnings: { title: "Valid, with warnings.", meaning: "Readers take the file; something in it is odd." },
  invalid: { title: "Invalid.", meaning: "The file breaks rules; readers refuse it or read it wrong." },
  unsupported: {
    title: "Not supported.",
    meaning: "The only errors are a version or types that are not known here: from a fork, or newer.",
  },
};

/** By the strict profile. */
export function verdictOf(
  opened: Opened, set: FileSet | undefined,
): { verdict: Report["verdict"]; findings: number } {
  const { verdict, findings } = together(opened.reports.get("strict") as Report, set);
  return { verdict, findings: findings.length };
}

/** A report on the file with what is wrong with its set. */
export function together(report: Report, set: FileSet | undefined): Report {
  const ofSet = set?.findings ?? [];
  return {
    verdict: ofSet.length ? "invalid" : report.verdict,
    findings: [...ofSet, ...report.findings],
  };
}
