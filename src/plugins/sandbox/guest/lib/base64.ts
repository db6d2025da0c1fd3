const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const urlAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** By character code: its six bits, or 64 for skipped characters. Both alphabets are read, as in Node. */
const values = new Uint8Array(128).fill(64);
for (let index = 0; index < 64; index++) {
  values[alphabet.charCodeAt(index)] = index;
  values[urlAlphabet.charCodeAt(index)] = index;
}
const equalsSign = 61;
/** Captured before the plugin's code could replace it, because the bridge relies on it. */
const { fromCharCode } = String;
/** Bytes converted per call; a multiple of three. */
const chunkBytes = 6144;

export function base64OfBytes(bytes: Uint8Array): string {
  return encode(bytes, alphabet, true);
}

/** URL-safe, without padding. */
export function base64UrlOfBytes(bytes: Uint8Array): string {
  return encode(bytes, urlAlphabet, false);
}

function encode(bytes: Uint8Array, letters: string, padded: boolean): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    text += encodeChunk(bytes, start, Math.min(start + chunkBytes, bytes.length), letters);
  }
  const rest = bytes.length % 3;
  if (rest === 0 || !padded) return text;
  return text + (rest === 1 ? '==' : '=');
}

function encodeChunk(bytes: Uint8Array, start: number, end: number, letters: string): string {
  const codes = new Uint8Array(Math.ceil((4 * (end - start)) / 3));
  let length = 0;
  for (let at = start; at < end; at += 3) {
    const left = end - at;
    const triple = (byteAt(bytes, at) << 16) | (byteAt(bytes, at + 1) << 8) | byteAt(bytes, at + 2);
    codes[length++] = letters.charCodeAt(triple >> 18);
    codes[length++] = letters.charCodeAt((triple >> 12) & 63);
    if (left > 1) codes[length++] = letters.charCodeAt((triple >> 6) & 63);
    if (left > 2) codes[length++] = letters.charCodeAt(triple & 63);
  }
  return fromCharCode(...codes);
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

/** As lenient as Node: characters outside the alphabets are skipped, `=` ends the text. */
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
  let length = 0;
  let bits = 0;
  let held = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === equalsSign) break;
    const value = values[code] ?? 64;
    if (value === 64) continue;
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[length++] = (held >> bits) & 255;
  }
  return length === bytes.length ? bytes : bytes.slice(0, length);
}
