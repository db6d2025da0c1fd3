import { hash } from 'node:crypto';

const hashChars = 16;

/** Whether a text has more characters (whole ones) than a limit. */
export function isLonger(text: string, charsMax: number): boolean {
  // A character is one or two units.
  return text.length > charsMax && (text.length > charsMax * 2 || [...text].length > charsMax);
}

/** A text of exactly so many characters: the beginning, and 64 bits of a hash of the whole, so that different ones stay different. */
export function shorten(text: string, charsMax: number): string {
  const start = Array.from(text.slice(0, charsMax * 2))
    .slice(0, charsMax - hashChars - 1)
    .join('');
  return `${start}~${hash('sha256', text, 'hex').slice(0, hashChars)}`;
}
