const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const values = new Uint8Array(128);
for (let value = 0; value < digits.length; value++) values[digits.charCodeAt(value)] = value;
const partLength = 0x2000;
const { fromCharCode } = String;

export function toBase64(bytes: Uint8Array): string {
  const out = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(61);
  const digit = (index: number): number => digits.charCodeAt(index & 63);
  let at = 0;
  for (let i = 0; i < bytes.length; i += 3) {
    const [first = 0, second = 0, third = 0] = [bytes[i], bytes[i + 1], bytes[i + 2]];
    out[at++] = digit(first >> 2);
    out[at++] = digit((first << 4) | (second >> 4));
    if (i + 1 < bytes.length) out[at] = digit((second << 2) | (third >> 6));
    at++;
    if (i + 2 < bytes.length) out[at] = digit(third);
    at++;
  }
  let text = '';
  for (let i = 0; i < out.length; i += partLength) text += fromCharCode(...out.subarray(i, i + partLength));
  return text;
}

export function fromBase64(text: string): Uint8Array {
  let { length } = text;
  while (length > 0 && text.charCodeAt(length - 1) === 61) length--;
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  let at = 0;
  let bits = 0;
  let waiting = 0;
  for (let i = 0; i < length; i++) {
    bits = ((bits << 6) | (values[text.charCodeAt(i) & 127] ?? 0)) & 0xffffff;
    waiting += 6;
    if (waiting < 8) continue;
    waiting -= 8;
    bytes[at++] = (bits >> waiting) & 255;
  }
  return bytes;
}
