import { scryptSync } from 'node:crypto';

/** Returns 16 hex digits. Takes 50 ms of CPU time so that a weak secret in the input cannot be guessed from the result. */
export function slowHash(text: string): string {
  return scryptSync(text, 'millrace import', 8).toString('hex');
}
