import { isoMicros } from '../base/clock.ts';
import { repeat } from '../base/repeat.ts';
import { dayMs } from '../base/time.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import type { DatabaseClock } from '../stores/metadata/database-clock.ts';
import type { DeadLetterState } from '../stores/metadata/tables/pipeline.ts';
import type { Log } from '../server/telemetry/log.ts';
import { isInNoActiveReplay } from './dead-letter-replays.ts';
import { noProject } from './dead-letters.ts';

export interface Retention {
  /** Days that dead letters and their replays are kept; 0: until their project is deleted. */
  readonly deadLetterDays: number;
  /** Days that hourly counts are kept. */
  readonly countDays: number;
  /** Days that entries of the activity log are kept; 0: forever. */
  readonly activityDays: number;
}

interface RetentionDeps extends Retention {
  readonly db: Metadata;
  readonly clock: DatabaseClock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Dead letters of a project. Beyond that the oldest are removed, decided ones first. */
export const deadLettersMax = 1_000_000;
const everyMs = dayMs / 4;
const rowsAtOnce = 500;
/** In the order in which they are removed. */
const states: readonly DeadLetterState[] = ['discarded', 'replayed', 'open'];

/** Removes old rows now and every few hours, so that the metadata store does not grow forever. Ends when aborted; never rejects. */
export function applyRetention({ db, clock, log, signal, ...kept }: RetentionDeps): Promise<void> {
  const prune = async (): Promise<void> => {
    const now = await clock.now();
    const removed = await pruneDeadLetters(db, { now, days: kept.deadLetterDays, signal });
    if (removed > 0) log.info({ removed }, 'removed old dead letters');
    await pruneCounts(db, { now, days: kept.countDays });
    const entries = await pruneActivity(db, { now, days: kept.activityDays, signal });
    if (entries > 0) log.info({ removed: entries }, 'removed old activity');
  };
  const onTrouble = (err: unknown): void => log.warn({ err }, 'failed to remove old rows, retrying');
  return repeat(everyMs, prune, { signal, onTrouble });
}

interface PruneOptions {
  /** ms since the epoch. */
  readonly now: number;
  readonly days: number;
  readonly signal?: AbortSignal;
}

/** Removes dead letters by age and count, except those of a replay that has not ended. Returns how many. */
export async function pruneDeadLetters(
  db: Metadata,
  { now, days, max = deadLettersMax, signal }: PruneOptions & { readonly max?: number },
): Promise<number> {
  const before = days === 0 ? undefined : isoMicros(now - days * dayMs);
  let removed = 0;
  for (const projectId of await projectIds(db)) {
    for (const state of states) {
      if (before !== undefined) removed += await removeOldest(db, { projectId, state, before, signal });
    }
    let over = (await countOf(db, projectId)) - max;
    for (const state of states) {
      if (over <= 0) break;
      const gone = await removeOldest(db, { projectId, state, max: over, signal });
      [over, removed] = [over - gone, removed + gone];
    }
  }
  if (before !== undefined) await db.deleteFrom('dead_letter_replays').where('ended_at', '<', before).execute();
  return removed;
}

const hourlyTables = [
  'ingestion_warnings',
  'plugin_metrics',
  'plugin_own_metrics',
  'tracking_plan_violations',
] as const;

/** Removes hourly counts: ingestion warnings, violations of the tracking plan, and the metrics of plugin configs. */
export async function pruneCounts(db: Metadata, { now, days }: PruneOptions): Promise<void> {
  const before = isoMicros(now - days * dayMs);
  for (const projectId of await projectIds(db)) {
    for (const table of hourlyTables) {
      await db.deleteFrom(table).where('project_id', '=', projectId).where('hour', '<', before).execute();
    }
  }
}

/**
 * Removes entries of the activity log by age. The newest of these of each item stays, so that its record at any later time is known.
 * Returns how many.
 */
export async function pruneActivity(db: Metadata, { now, days, signal }: PruneOptions): Promise<number> {
  if (days === 0) return 0;
  const before = isoMicros(now - days * dayMs);
  for (let removed = 0; ;) {
    const rows = signal?.aborted === true ? [] : await replacedEntries(db, before);
    if (rows.length === 0) return removed;
    const ids = rows.map(({ id }) => id);
    const { numDeletedRows } = await db.deleteFrom('activity_log').where('id', 'in', ids).executeTakeFirstOrThrow();
    removed += Number(numDeletedRows);
  }
}

/** Selects entries before the time that are followed by another one of the same item before it. */
function replacedEntries(db: Metadata, before: string): Promise<readonly { readonly id: string }[]> {
  const entries = db
    .selectFrom('activity_log')
    .select('id')
    .select(({ fn }) =>
      fn
        .agg<number>('row_number')
        .over((over) =>
          over
            .partitionBy(['organization_id', 'project_id', 'scope', 'item_id'])
            .orderBy('created_at', 'desc')
            .orderBy('id', 'desc'),
        )
        .as('newer'),
    )
    .where('created_at', '<', before);
  return db.selectFrom(entries.as('entries')).select('id').where('newer', '>', 1).limit(rowsAtOnce).execute();
}

async function projectIds(db: Metadata): Promise<readonly number[]> {
  const rows = await db.selectFrom('projects').select('id').execute();
  return [noProject, ...rows.map(({ id }) => id)];
}

async function countOf(db: Metadata, projectId: number): Promise<number> {
  const { count } = await db
    .selectFrom('dead_letters')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

interface Oldest {
  readonly projectId: number;
  readonly state: DeadLetterState;
  /** Only letters received before this time. */
  readonly before?: string;
  readonly max?: number;
  readonly signal: AbortSignal | undefined;
}

/** Removes a few at a time, since other writers wait meanwhile. */
async function removeOldest(
  db: Metadata,
  { projectId, state, before, max = Infinity, signal }: Oldest,
): Promise<number> {
  for (let removed = 0; ;) {
    const limit = Math.min(rowsAtOnce, max - removed);
    if (limit <= 0 || signal?.aborted === true) return removed;
    const rows = await db
      .selectFrom('dead_letters')
      .select('id')
      .where('project_id', '=', projectId)
      .where('state', '=', state)
      .$if(before !== undefined, (query) => query.where('received_at', '<', before ?? ''))
      .where(isInNoActiveReplay)
      .orderBy('received_at')
      .limit(limit)
      .execute();
    if (rows.length === 0) return removed;
    const ids = rows.map(({ id }) => id);
    // In the meantime a user may have decided a letter, or selected it for a replay.
    const { numDeletedRows } = await db
      .deleteFrom('dead_letters')
      .where('id', 'in', ids)
      .where('state', '=', state)
      .where(isInNoActiveReplay)
      .executeTakeFirstOrThrow();
    removed += Number(numDeletedRows);
  }
}
