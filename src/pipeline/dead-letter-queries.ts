import type { Selectable } from 'kysely';
import { isoMicros } from '../base/clock.ts';
import type { Database } from '../stores/metadata/database.ts';
import type { DeadLetterState } from '../stores/metadata/tables/pipeline.ts';
import type { Queries } from '../stores/metadata/queries.ts';

export type DeadLetter = Selectable<Database['dead_letters']>;
export type ListedDeadLetter = Omit<DeadLetter, 'original' | 'project_id' | 'rows_stored'>;

/** Times are ISO 8601 UTC with microseconds. */
export interface DeadLetterFilter {
  readonly reason?: string | undefined;
  readonly event?: string | undefined;
  readonly distinctId?: string | undefined;
  readonly lane?: 'live' | 'historical' | undefined;
  readonly state?: DeadLetterState | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly ids?: readonly string[] | undefined;
}

const listed = [
  'id',
  'lane',
  'reason',
  'detail',
  'attr',
  'event',
  'distinct_id',
  'event_uuid',
  'received_at',
  'state',
  'decided_at',
  'replay_id',
] as const;

/** Newest first. */
export async function listDeadLetters(
  db: Queries,
  projectId: number,
  filter: DeadLetterFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<ListedDeadLetter[]> {
  return matchingDeadLetters(db, projectId, filter)
    .select(listed)
    .orderBy('received_at', 'desc')
    .orderBy('id')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
}

export async function countDeadLetters(db: Queries, projectId: number, filter: DeadLetterFilter): Promise<number> {
  const { count } = await matchingDeadLetters(db, projectId, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Dead letters of one reason, counted by event name. */
export interface DeadLetterGroup {
  readonly reason: string;
  readonly count: number;
  /** ISO 8601, of arrival. */
  readonly oldest: string;
  readonly newest: string;
  /** The most frequent names; null: events without a name. */
  readonly events: readonly { readonly event: string | null; readonly count: number }[];
}

/** Event names returned for all reasons together. */
const groupedEventsMax = 500;

/** By reason, the most frequent first. */
export async function groupDeadLetters(
  db: Queries,
  projectId: number,
  filter: DeadLetterFilter,
): Promise<DeadLetterGroup[]> {
  const reasons = await matchingDeadLetters(db, projectId, filter)
    .select(({ fn }) => ['reason', fn.countAll().as('count'), fn.min('received_at').as('oldest')])
    .select(({ fn }) => fn.max('received_at').as('newest'))
    .groupBy('reason')
    .orderBy('count', 'desc')
    .orderBy('reason')
    .execute();
  const names = await matchingDeadLetters(db, projectId, filter)
    .select(({ fn }) => ['reason', 'event', fn.countAll().as('count')])
    .groupBy(['reason', 'event'])
    .orderBy('count', 'desc')
    .orderBy('event')
    .limit(groupedEventsMax)
    .execute();
  return reasons.map(({ reason, count, oldest, newest }) => {
    const events = names.filter((each) => each.reason === reason);
    return {
      reason,
      count: Number(count),
      oldest,
      newest,
      events: events.map(({ event, count: named }) => ({ event, count: Number(named) })),
    };
  });
}

/** Finds a dead letter, including its original bytes. */
export async function findDeadLetter(db: Queries, projectId: number, id: string): Promise<DeadLetter | undefined> {
  return matchingDeadLetters(db, projectId, { ids: [id] })
    .selectAll()
    .executeTakeFirst();
}

/** Returns the ids of open dead letters, oldest first. */
export async function openDeadLetterIds(
  db: Queries,
  projectId: number,
  filter: DeadLetterFilter,
  limit: number,
): Promise<string[]> {
  const rows = await matchingDeadLetters(db, projectId, { ...filter, state: 'open' })
    .select('id')
    .orderBy('received_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Sets the state of open dead letters and returns how many changed. `now` in ms. */
export async function decideDeadLetters(
  db: Queries,
  projectId: number,
  filter: DeadLetterFilter,
  state: Exclude<DeadLetterState, 'open'>,
  now: number,
): Promise<number> {
  const ids = matchingDeadLetters(db, projectId, { ...filter, state: 'open' }).select('id');
  const changed = await db
    .updateTable('dead_letters')
    .set({ state, decided_at: isoMicros(now) })
    .where('id', 'in', ids)
    .executeTakeFirst();
  return Number(changed.numUpdatedRows);
}

export function matchingDeadLetters(db: Queries, projectId: number, filter: DeadLetterFilter) {
  let query = db.selectFrom('dead_letters').where('project_id', '=', projectId);
  if (filter.reason !== undefined) query = query.where('reason', '=', filter.reason);
  if (filter.event !== undefined) query = query.where('event', '=', filter.event);
  if (filter.distinctId !== undefined) query = query.where('distinct_id', '=', filter.distinctId);
  if (filter.lane !== undefined) query = query.where('lane', '=', filter.lane);
  if (filter.state !== undefined) query = query.where('state', '=', filter.state);
  if (filter.after !== undefined) query = query.where('received_at', '>=', filter.after);
  if (filter.before !== undefined) query = query.where('received_at', '<', filter.before);
  if (filter.ids !== undefined) query = query.where('id', 'in', filter.ids);
  return query;
}
