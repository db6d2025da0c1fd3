import type { EventKey } from './reads.ts';

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Checks text that this program wrote, so only one spelling. */
export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}

/** Encodes the end of a page as opaque text for URLs. */
export function encodeCursor(key: EventKey): string {
  const parts = [String(key.timestampMicros), key.uuid, key.event, key.distinctId, key.day];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Returns undefined for text that encodeCursor did not create. */
export function decodeCursor(text: string): EventKey | undefined {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 5) return undefined;
  const [micros, uuid, event, distinctId, day] = parts as unknown[];
  if (typeof micros !== 'string' || !/^-?\d{1,18}$/.test(micros)) return undefined;
  if (typeof uuid !== 'string' || !isUuid(uuid)) return undefined;
  if (typeof event !== 'string' || typeof distinctId !== 'string') return undefined;
  if (typeof day !== 'number' || !Number.isInteger(day) || Math.abs(day) > 200_000) return undefined;
  return { timestampMicros: BigInt(micros), uuid, event, distinctId, day };
}
