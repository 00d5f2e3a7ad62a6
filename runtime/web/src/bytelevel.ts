/** The alphabet of byte-level vocabularies: a character for each byte, those that print for themselves. */
const BYTES = new Map<string, number>();
{
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const prints = (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte !== 173);
    BYTES.set(String.fromCharCode(prints ? byte : next++), byte);
  }
}
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The bytes that a token stands for; undefined if a character is not of the alphabet. */
function bytesOf(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = BYTES.get(token[i]);
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

/** What a token stands for: text, bytes that are a part of a character, or undefined. */
export function meant(token: string): string | Uint8Array | undefined {
  const bytes = bytesOf(token);
  if (!bytes) return undefined;
  try {
    return DECODER.decode(bytes);
  } catch {
    return bytes;
  }
}
