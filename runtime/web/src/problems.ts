/** What went wrong, in words that help. */
import { SourceError } from "../../../generated/typescript/src/index.js";
import { isServed } from "./served.js";

/** A title and what to do. */
export interface Problem {
  readonly title: string;
  readonly advice: string;
  readonly detail: string;
}

const CASES: readonly (readonly [RegExp, string, string])[] = [
  [/answers 40[13]\b/, "The server refuses access", "The address may need a login. Download the file and drop it here."],
  [/answers (404|410)\b/, "There is no such file on the server", "Check the address; it has to be the file itself, not a page about it."],
  [/answers 5\d\d\b|answers 429\b/, "The server is in trouble or busy", "Try again in a while."],
  [/knows no ranges/, "The server can only send whole files", "The header of this file is too long to read it that way. Download the file and drop it here."],
  [/sent the range ""/, "The server hides the size of the file from pages", "It answers with ranges, but does not list Content-Range in Access-Control-Expose-Headers. Download the file and drop it here."],
  [/has changed since|no longer answers with ranges/, "The file changed while it was read", "Open it again."],
  [/came short|another range|refuses every range/, "The server's answers do not fit together", "Download the file and drop it here."],
  [/the header has more than/, "The header is larger than this page reads", "The command line has no such limit: ggufspec info FILE"],
  [/Failed to fetch|NetworkError|Load failed|CORS/i, "The server cannot be reached from this page", "Either it is down or the address is wrong, or it does not allow other pages to read its files (CORS). Download the file and drop it here, or use ggufspec info URL."],
];

/** The words of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A problem for people, of whatever was thrown. */
export function problemOf(error: unknown): Problem {
  const detail = messageOf(error);
  if (error instanceof DOMException && error.name === "NotReadableError") {
    return { title: "The file cannot be read", advice: "It may have changed, or the browser may not read it.", detail };
  }
  if (error instanceof RangeError && /allocation|length/i.test(detail)) {
    return { title: "The browser has not enough memory", advice: "The header of this file is very long.", detail };
  }
  const found = error instanceof SourceError ? CASES.find(([form]) => form.test(detail)) : undefined;
  if (found) return { title: found[1], advice: found[2], detail };
  return { title: "The file could not be opened", advice: "", detail };
}

/**
 * An address that a person typed, whole; a TypeError that says what is wrong with it.
 *
 * What `ggufspec serve` allows its page to read (its policy, CSP) are https addresses and its own.
 */
export function addressOf(typed: string): URL {
  let url: URL;
  try {
    url = new URL(typed.trim(), document.baseURI);
  } catch {
    throw new TypeError("This is no address. It should look like https://example.org/model.gguf");
  }
  if (isServed()) {
    if (url.protocol !== "https:" && url.origin !== location.origin) {
      throw new TypeError("Only https addresses and the files that are served here can be read by this page; for others use ggufspec info URL, or pick a local file.");
    }
  } else if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError("Only http and https addresses can be read; pick a local file instead.");
  }
  return url;
}
