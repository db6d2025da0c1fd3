import { createHmac } from 'node:crypto';

/** Returns the HMAC-SHA-256 of a text, as hex. */
export function keyedHash(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}
