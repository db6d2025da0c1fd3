/**
 * Result of scanning a body without building objects: where each event's fields are in the JSON text. Capture uses it to
 * validate, the pipeline to copy bytes into rows; only events that need it are parsed.
 *
 * `spans` holds `spanStride` numbers per event. A field's span is [from, to): byte offsets of its JSON value, quotes included,
 * or -1 if absent. The last of repeated keys counts, as in JSON.parse. `null` values have a span.
 */
export const span = {
  event: 0, // the whole element
  name: 2, // "event"
  distinctId: 4, // "distinct_id" or "$distinct_id", else properties.distinct_id (or properties.$distinct_id)
  uuid: 6,
  timestamp: 8,
  properties: 10,
  offset: 12,
  set: 14, // top-level "$set"
  setOnce: 16,
  token: 18, // "token", "$token" or "api_key" of the event, else properties.token
  ownSet: 20, // properties.$set
  ownSetOnce: 22,
  ownUnset: 24,
  flags: 26, // not a span: bits below
  problem: 27, // not a span: 0, or 1 + index into scanProblems
} as const;
export const spanStride = 28;

/** Bits of `span.flags`. */
export const eventFlag = {
  /** The properties contain one without a span that affects persons, groups or time: $groups, $process_person_profile, $anon_distinct_id, alias, $group_type, $ignore_sent_at, $cookieless_mode. */
  special: 1,
  /** properties.$ip is present. */
  hasIp: 2,
  /** The event name starts with `$`. */
  dollarName: 4,
  /** properties is absent or `{}`, ignoring white space. */
  emptyProperties: 8,
  /** distinct_id was only found in the properties. */
  idInProperties: 16,
} as const;

/** Problems of single events, after which the scan continues. */
export const scanProblems = ['event_too_large', 'event_too_deep', 'too_many_keys', 'invalid_event'] as const;
export type ScanProblem = (typeof scanProblems)[number];

export interface ScannedBatch {
  /** Valid UTF-8, valid JSON. */
  readonly json: Buffer;
  readonly count: number;
  /** count × spanStride numbers. */
  readonly spans: Int32Array;
  /** Form of the root, which decides where flags and tokens are allowed. */
  readonly root: 'batch' | 'array' | 'single';
  /** `api_key` or `token` of a batch root, if present. A value that is not a string is kept as JSON text. */
  readonly token: string | undefined;
  readonly historicalMigration: boolean;
  /** `sent_at` of a batch root, if it is a string. */
  readonly sentAt: string | undefined;
}
