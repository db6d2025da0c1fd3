import { notCanonical, quote } from './canonical-value.ts';

const backslash = 0x5c;
const unescaped = new Uint8Array(256);
for (const pair of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'])
  unescaped[pair.charCodeAt(0)] = pair.charCodeAt(1);

export interface Unescaped {
  /** Behind the closing quote; notCanonical: the text has other escapes than those of one letter, or no end. */
  read: number;
  /** Behind what was written. */
  written: number;
}

const answer: Unescaped = { read: 0, written: 0 };

/** Writes what the text whose quote stands at `from` says to `to` and on, which lies behind it. The answer is the same object each time. */
export function unescapeText(json: Buffer, from: number, to: number): Unescaped {
  let at = from + 1;
  let end = to;
  answer.read = notCanonical;
  for (;;) {
    const byte = json[at] as number;
    if (byte === quote) break;
    if (byte === backslash) {
      const means = unescaped[json[at + 1] as number] as number;
      if (means === 0) return answer;
      json[end++] = means;
      at += 2;
    } else if (byte >= 0x20) {
      json[end++] = byte;
      at += 1;
    } else return answer;
  }
  answer.read = at + 1;
  answer.written = end;
  return answer;
}
