import { assert } from '../../base/assert.ts';
import { span } from './scanned-batch.ts';

/** Keys of an event and of its properties that the scanner recognises. */
export const eventKey = {
  other: 0,
  name: 1,
  distinctId: 2,
  uuid: 3,
  timestamp: 4,
  properties: 5,
  offset: 6,
  set: 7,
  setOnce: 8,
  token: 9,
} as const;
export type EventKey = (typeof eventKey)[keyof typeof eventKey];

/** Span of each event key, or -1 for none. */
export const spanOfKey: readonly number[] = [
  -1,
  span.name,
  span.distinctId,
  span.uuid,
  span.timestamp,
  span.properties,
  span.offset,
  span.set,
  span.setOnce,
  span.token,
];

export const propertyKey = {
  other: 0,
  distinctId: 1,
  token: 2,
  ip: 3,
  special: 4,
  set: 5,
  setOnce: 6,
  unset: 7,
} as const;
export type PropertyKey = (typeof propertyKey)[keyof typeof propertyKey];

/**
 * Recognised keys, found by length and first byte, a pair that is unique within a table. Any other key costs one lookup in a
 * table of bytes.
 */
export interface KeyTable<K> {
  /** 1-based position in `keys` by length and first byte; 0 means none. */
  readonly places: Uint8Array;
  readonly keys: readonly { readonly bytes: Buffer; readonly key: K }[];
}

export const keyBytesMax = 31;

function keyTable<K>(known: Readonly<Record<string, K>>): KeyTable<K> {
  const places = new Uint8Array((keyBytesMax + 1) << 8);
  const keys: { bytes: Buffer; key: K }[] = [];
  for (const [text, key] of Object.entries(known)) {
    const place = (text.length << 8) | text.charCodeAt(0);
    assert(places[place] === 0, `"${text}" to differ from the other keys in its length or first character`);
    places[place] = keys.push({ bytes: Buffer.from(text), key });
  }
  return { places, keys };
}

export const eventKeys = keyTable<EventKey>({
  event: eventKey.name,
  distinct_id: eventKey.distinctId,
  $distinct_id: eventKey.distinctId,
  uuid: eventKey.uuid,
  timestamp: eventKey.timestamp,
  properties: eventKey.properties,
  offset: eventKey.offset,
  $set: eventKey.set,
  $set_once: eventKey.setOnce,
  token: eventKey.token,
  $token: eventKey.token,
  api_key: eventKey.token,
});

export const propertyKeys = keyTable<PropertyKey>({
  distinct_id: propertyKey.distinctId,
  $distinct_id: propertyKey.distinctId,
  token: propertyKey.token,
  $ip: propertyKey.ip,
  $set: propertyKey.set,
  $set_once: propertyKey.setOnce,
  $unset: propertyKey.unset,
  $groups: propertyKey.special,
  $process_person_profile: propertyKey.special,
  $anon_distinct_id: propertyKey.special,
  alias: propertyKey.special,
  $group_type: propertyKey.special,
  $ignore_sent_at: propertyKey.special,
  $cookieless_mode: propertyKey.special,
});

const batchKeys = keyTable({
  batch: 'batch',
  api_key: 'token',
  token: 'token',
  historical_migration: 'historical',
  sent_at: 'sentAt',
  event: 'event',
} as const);
export type BatchKey = 'batch' | 'token' | 'historical' | 'sentAt' | 'event';

/** Finds the key with quotes at `from` and `to - 1`. An escaped spelling (`ev\u0065nt`) is the same key. */
function find<K>(table: KeyTable<K>, json: Buffer, from: number, to: number, escaped: boolean): K | undefined {
  if (escaped) return findEscaped(table, json, from, to);
  const length = to - from - 2;
  if (length > keyBytesMax) return undefined;
  const place = table.places[(length << 8) | (json[from + 1] as number)] as number;
  if (place === 0) return undefined;
  const found = table.keys[place - 1];
  return found !== undefined && matches(json, from + 1, found.bytes) ? found.key : undefined;
}

function findEscaped<K>(table: KeyTable<K>, json: Buffer, from: number, to: number): K | undefined {
  const bytes = Buffer.from(`"${String(JSON.parse(json.toString('utf8', from, to)))}"`);
  return find(table, bytes, 0, bytes.length, false);
}

function matches(json: Buffer, from: number, bytes: Buffer): boolean {
  // Compares from the end, because some keys share a prefix ($set…, $group…).
  for (let i = bytes.length - 1; i >= 0; i--) if (json[from + i] !== bytes[i]) return false;
  return true;
}

export function eventKeyAt(json: Buffer, from: number, to: number, escaped: boolean): EventKey {
  return find(eventKeys, json, from, to, escaped) ?? eventKey.other;
}
export function propertyKeyAt(json: Buffer, from: number, to: number, escaped: boolean): PropertyKey {
  return find(propertyKeys, json, from, to, escaped) ?? propertyKey.other;
}
export function batchKeyAt(json: Buffer, from: number, to: number, escaped: boolean): BatchKey | undefined {
  return find(batchKeys, json, from, to, escaped);
}
