import type { Selectable } from 'kysely';
import { isoMicros } from '../base/clock.ts';
import type { Database, DeadLetterState } from '../metadata/database.ts';
import type { Queries } from '../metadata/queries.ts';

export type DeadLetter = Selectable<Database['dead_letters']>;
export type ListedDeadLetter = Omit<DeadLetter, 'original' | 'project_id'>;

/** Times are ISO 8601 UTC with microseconds. */
export interface DeadLetterFilter {
  readonly reason?: string | undefined;
  readonly event?: string | undefined;
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
] as const;

/** Newest first. */
export async function listDeadLetters(
  db: Queries,
  projectId: number,
  filter: DeadLetterFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<ListedDeadLetter[]> {
  return matching(db, projectId, filter)
    .select(listed)
    .orderBy('received_at', 'desc')
    .orderBy('id')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
}

export async function countDeadLetters(db: Queries, projectId: number, filter: DeadLetterFilter): Promise<number> {
  const { count } = await matching(db, projectId, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Whole, with the original bytes. */
export async function findDeadLetter(db: Queries, projectId: number, id: string): Promise<DeadLetter | undefined> {
  return matching(db, projectId, { ids: [id] })
    .selectAll()
    .executeTakeFirst();
}

/** Ids of the open ones, oldest first. */
export async function openDeadLetterIds(
  db: Queries,
  projectId: number,
  filter: DeadLetterFilter,
  limit: number,
): Promise<string[]> {
  const rows = await matching(db, projectId, { ...filter, state: 'open' })
    .select('id')
    .orderBy('received_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Only open ones change. Returns how many did. `now` in ms. */
export async function decideDeadLetters(
  db: Queries,
  projectId: number,
  filter: DeadLetterFilter,
  state: Exclude<DeadLetterState, 'open'>,
  now: number,
): Promise<number> {
  const ids = matching(db, projectId, { ...filter, state: 'open' }).select('id');
  const changed = await db
    .updateTable('dead_letters')
    .set({ state, decided_at: isoMicros(now) })
    .where('id', 'in', ids)
    .executeTakeFirst();
  return Number(changed.numUpdatedRows);
}

function matching(db: Queries, projectId: number, filter: DeadLetterFilter) {
  let query = db.selectFrom('dead_letters').where('project_id', '=', projectId);
  if (filter.reason !== undefined) query = query.where('reason', '=', filter.reason);
  if (filter.event !== undefined) query = query.where('event', '=', filter.event);
  if (filter.state !== undefined) query = query.where('state', '=', filter.state);
  if (filter.after !== undefined) query = query.where('received_at', '>=', filter.after);
  if (filter.before !== undefined) query = query.where('received_at', '<', filter.before);
  if (filter.ids !== undefined) query = query.where('id', 'in', filter.ids);
  return query;
}
