import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { inTransaction, type Queries } from '../../stores/metadata/queries.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { storable } from './plugin-logs.ts';

/** A failure of a config. The caller has removed secrets from the texts. */
export interface PluginFailure {
  readonly configId: number;
  readonly projectId: number;
  /** `processEvent`, `setupPlugin`, the name of a job … */
  readonly method: string;
  /** `TypeError`, `RetryError` … */
  readonly name: string;
  readonly message: string;
  /** May be empty. */
  readonly stack: string;
  /** The failing event, or its JSON text. */
  readonly event?: JsonObject | string | undefined;
  /** ms since the epoch. */
  readonly time: number;
  /** Number of such failures, if the caller has counted. Default 1. */
  readonly count?: number;
}

interface ErrorSample {
  readonly time: string;
  readonly message: string;
  /** Null if there is no event. Beyond 20 kB only its name and ids. */
  readonly event: JsonObject | null;
}

export interface StoredError {
  readonly fingerprint: string;
  readonly method: string;
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly count: number;
  readonly first_seen: string;
  readonly last_seen: string;
  /** Newest first. */
  readonly samples: readonly ErrorSample[];
}

export const samplesMax = 5;
const kindsPerConfigMax = 50;
const messageCharsMax = 2000;
const stackCharsMax = 8000;
const eventCharsMax = 20_000;

/**
 * Adds failures to those of the same kind: same config, method, name and message except for numbers and ids. A config keeps the 50
 * kinds seen last. Takes part in the transaction if `db` is one.
 */
export async function recordErrors(db: Queries, errors: readonly PluginFailure[]): Promise<void> {
  if (errors.length === 0) return;
  const kinds = groupByKind(errors);
  await inTransaction(db, async (tx) => {
    for (const kind of kinds) await addToKind(tx, kind);
    for (const configId of new Set(kinds.map(({ first }) => first.configId))) await forgetOldKinds(tx, configId);
  });
}

/** Lists the kinds, last seen first. */
export async function listErrors(
  db: Queries,
  { projectId, configId }: { readonly projectId: number; readonly configId: number },
): Promise<StoredError[]> {
  const rows = await db
    .selectFrom('plugin_errors')
    .select(['fingerprint', 'method', 'name', 'message', 'stack', 'count', 'first_seen', 'last_seen', 'samples'])
    .where('config_id', '=', configId)
    .where('project_id', '=', projectId)
    .orderBy('last_seen', 'desc')
    .orderBy('fingerprint')
    .limit(kindsPerConfigMax)
    .execute();
  return rows.map((row) => Object.assign(row, { count: Number(row.count), samples: parseSamples(row.samples) }));
}

/** Returns the same for messages that differ only in numbers, uuids and other long ids. */
export function fingerprintOf({ method, name, message }: Pick<PluginFailure, 'method' | 'name' | 'message'>): string {
  const plain = message
    .slice(0, messageCharsMax)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '#')
    .replaceAll(/\b(?=\w*\d)\w{16,}\b/g, '#')
    .replaceAll(/\d+(\.\d+)*/g, '#');
  return createHash('sha256').update([method, name, plain].join('\u001f')).digest('hex').slice(0, 32);
}

interface Kind {
  readonly fingerprint: string;
  readonly first: PluginFailure;
  last: PluginFailure;
  count: number;
  /** Oldest first, limited to the number that is stored. */
  samples: PluginFailure[];
}

/** Sorted, so that two transactions cannot deadlock. */
function groupByKind(errors: readonly PluginFailure[]): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const error of errors) {
    const fingerprint = fingerprintOf(error);
    const id = `${error.configId} ${fingerprint}`;
    const kind = kinds.get(id);
    if (kind === undefined) {
      kinds.set(id, { fingerprint, first: error, last: error, count: error.count ?? 1, samples: [error] });
      continue;
    }
    kind.count += error.count ?? 1;
    kind.last = error;
    kind.samples = [...kind.samples, error].slice(-samplesMax);
  }
  const all = [...kinds.values()];
  return newestPerConfig(all).sort(
    (a, b) => a.first.configId - b.first.configId || (a.fingerprint < b.fingerprint ? -1 : 1),
  );
}

/** Skips kinds beyond the number that a config keeps: they would be deleted immediately. */
function newestPerConfig(kinds: readonly Kind[]): Kind[] {
  const counts = new Map<number, number>();
  return kinds.toReversed().filter(({ first: { configId } }) => {
    const count = (counts.get(configId) ?? 0) + 1;
    counts.set(configId, count);
    return count <= kindsPerConfigMax;
  });
}

async function addToKind(tx: Queries, { fingerprint, first, last, count, samples }: Kind): Promise<void> {
  const times = samples.map(({ time }) => time);
  const { samples: known } = await tx
    .insertInto('plugin_errors')
    .values({
      config_id: first.configId,
      project_id: first.projectId,
      fingerprint,
      method: storable(last.method, 200),
      name: storable(last.name, 200),
      message: storable(last.message, messageCharsMax),
      stack: storable(last.stack, stackCharsMax),
      count,
      first_seen: isoMicros(Math.min(first.time, ...times)),
      last_seen: isoMicros(Math.max(first.time, ...times)),
      samples: '[]',
    })
    .onConflict((conflict) =>
      conflict.columns(['config_id', 'fingerprint']).doUpdateSet((eb) => ({
        message: eb.ref('excluded.message'),
        stack: eb.ref('excluded.stack'),
        count: eb('plugin_errors.count', '+', eb.ref('excluded.count')),
        last_seen: sql<string>`case when excluded.last_seen > plugin_errors.last_seen
          then excluded.last_seen else plugin_errors.last_seen end`,
      })),
    )
    .returning('samples')
    .executeTakeFirstOrThrow();
  const merged = [...samples.map(sampleOf).reverse(), ...parseSamples(known)].sort(newestFirst);
  await tx
    .updateTable('plugin_errors')
    .set({ samples: JSON.stringify(merged.slice(0, samplesMax)) })
    .where('config_id', '=', first.configId)
    .where('fingerprint', '=', fingerprint)
    .execute();
}

async function forgetOldKinds(tx: Queries, configId: number): Promise<void> {
  const kept = tx
    .selectFrom('plugin_errors')
    .select('fingerprint')
    .where('config_id', '=', configId)
    .orderBy('last_seen', 'desc')
    .orderBy('fingerprint')
    .limit(kindsPerConfigMax);
  await tx.deleteFrom('plugin_errors').where('config_id', '=', configId).where('fingerprint', 'not in', kept).execute();
}

function newestFirst(a: ErrorSample, b: ErrorSample): number {
  if (a.time === b.time) return 0;
  return a.time < b.time ? 1 : -1;
}

function sampleOf({ time, message, event }: PluginFailure): ErrorSample {
  return {
    time: isoMicros(time),
    message: storable(message, messageCharsMax),
    event: event === undefined ? null : shortEvent(event),
  };
}

function shortEvent(given: JsonObject | string): JsonObject {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  const event = typeof given === 'string' ? parseEvent(given) : given;
  if (text.length <= eventCharsMax) return event;
  const short: JsonObject = {};
  for (const key of ['uuid', 'event', 'distinct_id', 'timestamp']) {
    const value: JsonValue | undefined = event[key];
    if (typeof value === 'string') short[key] = value.slice(0, 400);
  }
  return {
    ...short,
    properties: { $cut_off: `the event has ${text.length} characters; at most ${eventCharsMax} are kept` },
  };
}

/** Text that is not an event must not prevent recording the failure. */
function parseEvent(text: string): JsonObject {
  try {
    const event: unknown = JSON.parse(text);
    // Sound: JSON.parse returns JSON.
    if (typeof event === 'object' && event !== null && !Array.isArray(event)) return event as JsonObject;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { properties: { $unreadable: text.slice(0, 400) } };
}

function parseSamples(text: string): ErrorSample[] {
  // Sound: only addToKind writes the column.
  return JSON.parse(text) as ErrorSample[];
}
