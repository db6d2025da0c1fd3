import { hash } from 'node:crypto';

/** The largest number of 15 hexadecimal digits. */
const shareMax = 16 ** 15 - 1;

/**
 * Evenly spread from 0 to 1, always the same for the same text: the first 15 digits of its SHA-256, as published plugins that
 * take samples have it.
 */
export function shareOfText(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 15), 16) / shareMax;
}
