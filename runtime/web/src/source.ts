/** Where a file comes from, and how much of it was read. */
import { HttpSource, type Source } from "../../../generated/typescript/src/index.js";
import { breathe } from "./slices.js";

const MOST_READS = 256; // small reads behind the header of a local file: padding between tensors
const FIRST = 1 << 18; // what the library reads of a file at first

/** What the page counts while it reads. */
export interface Tally {
  /** Bytes that came. */
  bytes: number;
  /** Whether a server answered with a whole file instead of a range. */
  withoutRanges: boolean;
  /** Runs of padding behind the header that were not read. */
  skipped: number;
}

/** A source that keeps the header it has read, and then reads next to nothing behind it. */
export class HeaderSource implements Source {
  readonly tally: Tally = { bytes: 0, withoutRanges: false, skipped: 0 };
  private header: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  private constructor(
    private readonly base: Source,
    private readsLeft: number,
    private readonly progress: (bytes: number) => void,
  ) {}

  /** A file of this machine. */
  static ofBlob(blob: Blob, progress: (bytes: number) => void): HeaderSource {
    const read = async (offset: number, length: number): Promise<Uint8Array> =>
      new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
    return new HeaderSource({ size: blob.size, read }, MOST_READS, progress);
  }

  /** A file of a server. SourceError where it cannot be had. */
  static async ofUrl(
    url: string, signal: AbortSignal, progress: (bytes: number) => void,
  ): Promise<HeaderSource> {
    let withoutRanges = false;
    const counting: typeof fetch = async (input, init) => {
      const response = await fetch(input, { ...init, credentials: "same-origin", cache: "no-store" });
      withoutRanges ||= response.status === 200;
      return response;
    };
    const base = await HttpSource.open(url, { fetch: counting, signal, retries: 2 });
    const made = new HeaderSource(base, 0, progress);
    made.tally.withoutRanges = withoutRanges;
    return made;
  }

  get size(): number {
    return this.base.size;
  }

  /** The header grows without gaps; what is asked for elsewhere is padding between tensors. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const end = offset + length;
    if (end <= this.header.byteLength) {
      await breathe(); // all of a second look would be one long task
      return this.header.subarray(offset, end);
    }
    if (offset === this.header.byteLength) return this.grow(offset, end);
    if (this.readsLeft === 0) {
      if (++this.tally.skipped % 512 === 0) await breathe();
      return new Uint8Array(length); // as if all were well: the page says that it did not look
    }
    this.readsLeft--;
    return this.fetch(offset, length);
  }

  async close(): Promise<void> {
    await this.base.close?.();
  }

  private async grow(offset: number, end: number): Promise<Uint8Array> {
    const known = this.header.byteLength;
    const longer = new Uint8Array(end);
    longer.set(this.header);
    for (let at = known; at < end; ) {
      const piece = await this.fetch(at, Math.min(end - at, 8 * FIRST));
      if (!piece.byteLength) return this.header.subarray(offset); // the library says that it came short
      longer.set(piece, at);
      at += piece.byteLength;
      this.progress(at);
    }
    this.header = longer;
    return longer.subarray(offset, end);
  }

  private async fetch(offset: number, length: number): Promise<Uint8Array> {
    const piece = await this.base.read(offset, length);
    this.tally.bytes += piece.byteLength;
    return piece;
  }
}
