import type { Expression, ExpressionBuilder, Selectable, SqlBool } from 'kysely';
import { isoMicros } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import type { Database, Metadata } from '../stores/metadata/database.ts';
import { claimed, claimNext, isExpired, isHeld, isStill, type Lease } from '../stores/metadata/lease.ts';
import { inTransaction, type Queries } from '../stores/metadata/queries.ts';
import { matchingDeadLetters, type DeadLetter, type DeadLetterFilter } from './dead-letter-queries.ts';

/**
 * Replays of many dead letters in the background.
 *
 * | from            | to        | by                                                        |
 * | --------------- | --------- | --------------------------------------------------------- |
 * | –               | queued    | a user selects dead letters, which are marked with its id |
 * | queued          | running   | a worker claims it; after a crash another worker does     |
 * | running         | done      | the worker, when no letter is left                        |
 * | queued, running | cancelled | a user; letters that were not sent stay open              |
 *
 * A letter that is sent becomes `replayed`; one that is still invalid stays open and is unmarked. Open marked letters are
 * therefore the remaining work, however often the worker changes.
 */
const replayStates = ['queued', 'running', 'done', 'cancelled'] as const;
export type ReplayState = (typeof replayStates)[number];

/** Letters that are still invalid, by reason. */
export interface ReplayFailure {
  readonly code: string;
  /** Detail of the first letter. */
  readonly detail: string;
  readonly count: number;
  /** Ids of the first letters. */
  readonly ids: readonly string[];
}

export interface DeadLetterReplay {
  readonly id: string;
  readonly state: ReplayState;
  /** The filter as requested, JSON. */
  readonly choice: unknown;
  readonly matched: number;
  readonly replayed: number;
  readonly failures: readonly ReplayFailure[];
  /** Letters still to be sent. */
  readonly remaining: number;
  readonly error: string;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

/** A replay that a worker holds. */
export interface HeldReplay extends Lease {
  readonly projectId: number;
  readonly failures: readonly ReplayFailure[];
}

/** Distinct reasons that a replay records, and letters that it names for each. */
const failuresMax = 100;
const idsPerFailure = 10;

/** Returns the condition that no replay which has not ended has selected a dead letter. */
export function isInNoActiveReplay({
  eb,
  not,
  exists,
}: ExpressionBuilder<Database, 'dead_letters'>): Expression<SqlBool> {
  return not(
    exists(
      eb
        .selectFrom('dead_letter_replays as other')
        .select('other.id')
        .whereRef('other.id', '=', 'dead_letters.replay_id')
        .where('other.state', 'in', ['queued', 'running']),
    ),
  );
}

/** Starts a replay of the open letters that match and are in no other replay. `now` in ms. */
export async function beginReplay(
  db: Queries,
  { projectId, filter, choice, now }: { projectId: number; filter: DeadLetterFilter; choice: unknown; now: number },
): Promise<string> {
  const id = newId();
  await inTransaction(db, async (tx) => {
    const chosen = matchingDeadLetters(tx, projectId, { ...filter, state: 'open' }).select('id');
    const marked = await tx
      .updateTable('dead_letters')
      .set({ replay_id: id })
      .where('id', 'in', chosen)
      .where(isInNoActiveReplay)
      .executeTakeFirst();
    const matched = Number(marked.numUpdatedRows);
    await tx
      .insertInto('dead_letter_replays')
      .values({
        id,
        project_id: projectId,
        state: matched === 0 ? 'done' : 'queued',
        choice: JSON.stringify(choice),
        matched,
        failures: '[]',
        error: '',
        attempts: 0,
        lease_until: null,
        created_at: isoMicros(now),
        ended_at: matched === 0 ? isoMicros(now) : null,
      })
      .execute();
  });
  return id;
}

/** Newest first. */
export async function listReplays(
  db: Queries,
  projectId: number,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly replays: DeadLetterReplay[] }> {
  const ofProject = db.selectFrom('dead_letter_replays').where('project_id', '=', projectId);
  const { count } = await ofProject.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
  const rows = await ofProject
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return { count: Number(count), replays: await withCounts(db, rows) };
}

export async function findReplay(db: Queries, projectId: number, id: string): Promise<DeadLetterReplay | undefined> {
  const rows = await db
    .selectFrom('dead_letter_replays')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .execute();
  return (await withCounts(db, rows))[0];
}

/** Cancels a replay; letters that were not sent stay open. Returns false if it had ended. `now` in ms. */
export async function cancelReplay(db: Queries, projectId: number, id: string, now: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('dead_letter_replays')
      .set({ state: 'cancelled', lease_until: null, error: '', ended_at: isoMicros(now) })
      .where('project_id', '=', projectId)
      .where('id', '=', id)
      .where('state', 'in', ['queued', 'running'])
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  });
}

/** Claims the oldest replay that is queued or whose lease has expired. */
export async function claimReplay(db: Metadata, now: number, leaseMs: number): Promise<HeldReplay | undefined> {
  return claimNext(
    () =>
      db
        .selectFrom('dead_letter_replays')
        .selectAll()
        .where((eb) => eb.or([eb('state', '=', 'queued'), isExpired(now)]))
        .orderBy('created_at')
        .limit(1)
        .executeTakeFirst(),
    async (found) => {
      const taken = claimed(found, now, leaseMs);
      const { numUpdatedRows } = await db
        .updateTable('dead_letter_replays')
        .set(taken)
        .where(isStill(found))
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return undefined;
      const failures = JSON.parse(found.failures) as ReplayFailure[];
      return { id: found.id, epoch: taken.attempts, projectId: found.project_id, failures };
    },
  );
}

/** Returns false when the lease is lost. */
export async function renewReplay(db: Queries, held: Lease, until: number): Promise<boolean> {
  return writeHeld(db, held, { lease_until: isoMicros(until) });
}

/** Ends the lease, so that the next worker that polls can claim it. */
export function expireReplay(db: Queries, held: Lease): Promise<boolean> {
  return writeHeld(db, held, { lease_until: isoMicros(0) });
}

/** Returns remaining letters, oldest first, including their bytes. */
export async function lettersOfReplay(db: Queries, id: string, limit: number): Promise<DeadLetter[]> {
  return db
    .selectFrom('dead_letters')
    .selectAll()
    .where('replay_id', '=', id)
    .where('state', '=', 'open')
    .orderBy('received_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Unmarks letters that are still invalid and records why. Returns undefined, having changed nothing, when the lease is lost. */
export async function releaseInvalid(
  db: Metadata,
  held: HeldReplay,
  failed: readonly { readonly id: string; readonly code: string; readonly detail: string }[],
): Promise<HeldReplay | undefined> {
  const failures = failed.reduce(withFailure, held.failures);
  return inTransaction(db, async (tx) => {
    if (!(await writeHeld(tx, held, { failures: JSON.stringify(failures), error: '' }))) return undefined;
    if (failed.length > 0) {
      const ids = failed.map(({ id }) => id);
      await tx.updateTable('dead_letters').set({ replay_id: null }).where('id', 'in', ids).execute();
    }
    return { ...held, failures };
  });
}

/** Records why the replay is waiting; empty: it is not. */
export async function noteReplayError(db: Queries, held: Lease, error: string): Promise<boolean> {
  return writeHeld(db, held, { error: error.slice(0, errorLengthMax) });
}

const errorLengthMax = 1000;

export async function endReplay(db: Queries, held: Lease, now: number): Promise<boolean> {
  return writeHeld(db, held, { state: 'done', lease_until: null, error: '', ended_at: isoMicros(now) });
}

async function writeHeld(
  db: Queries,
  held: Lease,
  columns: Partial<Selectable<Database['dead_letter_replays']>>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('dead_letter_replays')
    .set(columns)
    .where(isHeld(held))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

function withFailure(
  failures: readonly ReplayFailure[],
  { id, code, detail }: { readonly id: string; readonly code: string; readonly detail: string },
): readonly ReplayFailure[] {
  const known = failures.find((failure) => failure.code === code);
  if (known === undefined) {
    return failures.length < failuresMax ? [...failures, { code, detail, count: 1, ids: [id] }] : failures;
  }
  const ids = known.ids.length < idsPerFailure ? [...known.ids, id] : known.ids;
  return failures.map((failure) => (failure === known ? { ...known, count: known.count + 1, ids } : failure));
}

type ReplayRow = Selectable<Database['dead_letter_replays']>;

async function withCounts(db: Queries, rows: readonly ReplayRow[]): Promise<DeadLetterReplay[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const counts = await db
    .selectFrom('dead_letters')
    .select(({ fn }) => ['replay_id', 'state', fn.countAll().as('count')])
    .where('replay_id', 'in', ids)
    .groupBy(['replay_id', 'state'])
    .execute();
  const countOf = (id: string, state: string): number =>
    Number(counts.find((each) => each.replay_id === id && each.state === state)?.count ?? 0);
  return rows.map((row) => {
    const hasEnded = row.state === 'done' || row.state === 'cancelled';
    return {
      id: row.id,
      state: row.state as ReplayState,
      choice: JSON.parse(row.choice) as unknown,
      matched: row.matched,
      replayed: countOf(row.id, 'replayed'),
      failures: JSON.parse(row.failures) as ReplayFailure[],
      remaining: hasEnded ? 0 : countOf(row.id, 'open'),
      error: row.error,
      createdAt: row.created_at,
      endedAt: row.ended_at,
    };
  });
}
