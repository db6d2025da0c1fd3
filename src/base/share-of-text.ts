import { hash } from 'node:crypto';

/** The largest number with 15 hexadecimal digits. */
const shareMax = 16 ** 15 - 1;

/** Maps a text to a uniform value from 0 to 1: the first 15 digits of its SHA-256, as in published plugins that sample events. */
export function shareOfText(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 15), 16) / shareMax;
}
