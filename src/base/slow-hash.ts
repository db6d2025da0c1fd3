import { scryptSync } from 'node:crypto';

/**
 * 16 hex digits. Slow, so that a weak secret among what was hashed cannot be guessed from the result: 50 ms of the processor.
 */
export function slowHash(text: string): string {
  return scryptSync(text, 'millrace import', 8).toString('hex');
}
