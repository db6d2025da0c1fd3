/** Which keys of an event and of its properties mean something to us, told apart by length first: most keys fail there. */
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

export const propertyKey = { other: 0, distinctId: 1, token: 2, ip: 3, special: 4 } as const;
export type PropertyKey = (typeof propertyKey)[keyof typeof propertyKey];

interface KeyPattern<K> {
  readonly bytes: Buffer;
  readonly key: K;
}

/** Patterns by length of the key in bytes. */
type KeyTable<K> = readonly (readonly KeyPattern<K>[] | undefined)[];

function keyTable<K>(keys: Readonly<Record<string, K>>): KeyTable<K> {
  const table: KeyPattern<K>[][] = Array.from({ length: 32 }, () => []);
  for (const [text, key] of Object.entries(keys)) table[text.length]?.push({ bytes: Buffer.from(text), key });
  return table.map((patterns) => (patterns.length > 0 ? patterns : undefined));
}

const eventKeys = keyTable<EventKey>({
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

const propertyKeys = keyTable<PropertyKey>({
  distinct_id: propertyKey.distinctId,
  $distinct_id: propertyKey.distinctId,
  token: propertyKey.token,
  $ip: propertyKey.ip,
  $set: propertyKey.special,
  $set_once: propertyKey.special,
  $unset: propertyKey.special,
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

/** The key whose quotes stand at `from` and `to - 1`. An escaped spelling (`ev\u0065nt`) is the same key. */
function find<K>(table: KeyTable<K>, json: Buffer, from: number, to: number, escaped: boolean): K | undefined {
  if (escaped) return findEscaped(table, json, from, to);
  const patterns = table[to - from - 2];
  if (patterns === undefined) return undefined;
  for (let i = 0; i < patterns.length; i++) {
    const pattern = patterns[i] as KeyPattern<K>;
    if (matches(json, from + 1, pattern.bytes)) return pattern.key;
  }
  return undefined;
}

function findEscaped<K>(table: KeyTable<K>, json: Buffer, from: number, to: number): K | undefined {
  const bytes = Buffer.from(`"${String(JSON.parse(json.toString('utf8', from, to)))}"`);
  return find(table, bytes, 0, bytes.length, false);
}

function matches(json: Buffer, from: number, bytes: Buffer): boolean {
  // From the end: keys that share a prefix ($set…, $group…) part sooner.
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
