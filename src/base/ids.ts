import { hash, randomBytes } from 'node:crypto';
import { parse, v7 } from 'uuid';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Namespace of every UUIDv5 that Millrace derives. Must never change: stored ids depend on it. */
export const millraceNamespace = '5f0b8f3c-6c0e-5d8e-9c5a-3b1f5a7e2d41';

/** Returns a time-ordered random id. */
export function newId(): string {
  return v7();
}

const namespaceBytes = parse(millraceNamespace);

/**
 * Returns the same UUIDv5 for the same parts, which are joined with a byte that no text contains. Uses a single hash call,
 * since every new person needs an id.
 */
export function derivedId(...parts: readonly string[]): string {
  const hex = hash('sha1', Buffer.concat([namespaceBytes, Buffer.from(parts.join('\u001f'))]), 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Returns `prefix` followed by 35 random bytes in base62: `phx_…` for personal keys, `phc_…` for project keys. */
export function newKey(prefix: 'phx_' | 'phc_'): string {
  let number = BigInt(`0x${randomBytes(35).toString('hex')}`);
  let text = '';
  while (number > 0n) {
    text = base62[Number(number % 62n)] + text;
    number /= 62n;
  }
  return prefix + text.padStart(48, '0');
}

/** Hash under which a secret key is stored. Its entropy makes one fast hash sufficient. */
export function keyHash(key: string): string {
  return `sha256$${hash('sha256', key)}`;
}
