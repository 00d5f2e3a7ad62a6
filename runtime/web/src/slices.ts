/** Long work in slices, so that the page answers in between. */
const SLICE = 12; // milliseconds

const channel = new MessageChannel();
const waiting: (() => void)[] = [];
channel.port1.onmessage = () => waiting.shift()?.();

/** Let the page draw and answer. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(0);
  });
}

/** Call `step(i)` for each number below `length`; false where `signal` ended it before. */
export async function sliced(
  length: number, step: (i: number) => void, signal?: AbortSignal, between?: (done: number) => void,
): Promise<boolean> {
  for (let i = 0; i < length; ) {
    const until = performance.now() + SLICE;
    do {
      for (const end = Math.min(length, i + 256); i < end; i++) step(i);
    } while (i < length && performance.now() < until);
    between?.(i);
    if (i < length) await breathe();
    if (signal?.aborted) return false;
  }
  return true;
}
