import type { Selectable, Updateable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { DeliveryRecord, DeliveryState, Notice, NoticeEvent } from '../../wire/contract/notices.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import { claimed, claimNext, isExpired, isHeld, isStill } from '../../stores/metadata/lease.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { destinationsFor } from './destinations.ts';

/**
 * The outbox of notifications: a row for each notification and destination, written in the transaction of the event and sent
 * later by the process that claims it. So an event never waits for delivery, a restart loses nothing, and two processes never
 * send the same row: the lease and its fence are those of metadata/lease.ts, by the clock of the database.
 *
 * | from            | by      | to      | when                                                   |
 * | --------------- | ------- | ------- | ------------------------------------------------------ |
 * | –               | enqueue | queued  | an event occurred that the destination subscribes to  |
 * | queued          | claim   | running | due                                                    |
 * | running         | claim   | running | the lease expired: the process that sent it died       |
 * | running         | settle  | sent    | the receiver accepted it                               |
 * | running         | settle  | queued  | it did not, and an attempt remains                     |
 * | running         | settle  | failed  | it did not, and no attempt remains or can help          |
 * | running         | release | queued  | the service is stopping                                |
 */
export interface Delivery {
  readonly id: string;
  readonly destinationId: string;
  readonly notice: Notice;
  /** Including the current attempt; serves as the fence. */
  readonly attempts: number;
  readonly attemptsMax: number;
}

/** About four hours with the sender's back-off. */
export const attemptsMax = 14;
const errorCharsMax = 1000;
const sentKeptMs = 7 * 86_400_000;
const failedKeptMs = 30 * 86_400_000;

/** The content of a notification; project and time are added. */
export type NoticeInput = Pick<Notice, 'state' | 'summary' | 'action' | 'target' | 'details'> & {
  readonly event: NoticeEvent;
  /** `null` means the service as a whole. */
  readonly projectId: number | null;
};

/** Writes a notification in the caller's transaction, so that it exists only if that commits. `now` is in ms by the database's clock, here and below. */
export async function enqueueNotice(tx: Queries, { projectId, ...input }: NoticeInput, now: number): Promise<void> {
  const destinations = await destinationsFor(tx, projectId, input.event);
  if (destinations.length === 0) return;
  const notice = { ...input, project: await projectOf(tx, projectId), occurred_at: isoMicros(now) };
  for (const { id } of destinations) await enqueue(tx, { destinationId: id, notice, attemptsMax }, now);
}

/** Enqueues a test notification, which is tried once. Returns its id. */
export async function enqueueTestNotice(
  tx: Queries,
  { id, projectId, name }: { readonly id: string; readonly projectId: number | null; readonly name: string },
  now: number,
): Promise<string> {
  const notice: Notice = {
    event: 'test',
    state: 'happened',
    summary: `A test: notices reach "${name}".`,
    action: '',
    project: await projectOf(tx, projectId),
    target: 'settings',
    occurred_at: isoMicros(now),
    details: {},
  };
  return enqueue(tx, { destinationId: id, notice, attemptsMax: 1 }, now);
}

async function projectOf(tx: Queries, id: number | null): Promise<Notice['project']> {
  if (id === null) return null;
  const { name } = await tx.selectFrom('projects').select('name').where('id', '=', id).executeTakeFirstOrThrow();
  return { id, name };
}

async function enqueue(
  tx: Queries,
  { destinationId, notice, attemptsMax: max }: Pick<Delivery, 'destinationId' | 'notice' | 'attemptsMax'>,
  now: number,
): Promise<string> {
  const [id, time] = [newId(), isoMicros(now)];
  await tx
    .insertInto('notices')
    .values({
      id,
      destination_id: destinationId,
      state: 'queued',
      notice: JSON.stringify(notice),
      attempts: 0,
      attempts_max: max,
      run_at: time,
      lease_until: null,
      error: '',
      created_at: time,
      finished_at: null,
    })
    .execute();
  return id;
}

/** Claims the notification that has been due longest and holds it until `now + leaseMs`. Returns `undefined` if none is due. */
export async function claimDelivery(db: Metadata, now: number, leaseMs: number): Promise<Delivery | undefined> {
  return claimNext(
    () =>
      db
        .selectFrom('notices')
        .select(['id', 'attempts', 'lease_until'])
        .where((eb) =>
          eb.or([isExpired(now), eb.and([eb('state', '=', 'queued'), eb('run_at', '<=', isoMicros(now))])]),
        )
        .orderBy('run_at')
        .orderBy('id')
        .limit(1)
        .executeTakeFirst(),
    async (found) => {
      const taken = claimed(found, now, leaseMs);
      const row = await db.updateTable('notices').set(taken).where(isStill(found)).returningAll().executeTakeFirst();
      return row && toDelivery(row);
    },
  );
}

export type Outcome =
  | { readonly kind: 'sent' }
  /** `final` means that no other attempt can help. `error` must hold no secret. */
  | { readonly kind: 'refused'; readonly error: string; readonly final: boolean; readonly delayMs: number };

/** Returns the state after the attempt, or `undefined` if the lease is lost and nothing was changed. */
export async function settleDelivery(
  db: Queries,
  delivery: Delivery,
  outcome: Outcome,
  now: number,
): Promise<DeliveryState | undefined> {
  const ended = { lease_until: null, finished_at: isoMicros(now) };
  if (outcome.kind === 'sent') return update(db, delivery, { ...ended, state: 'sent', error: '' });
  const error = outcome.error.slice(0, errorCharsMax);
  if (outcome.final || delivery.attempts >= delivery.attemptsMax)
    return update(db, delivery, { ...ended, state: 'failed', error });
  const run_at = isoMicros(now + outcome.delayMs);
  return update(db, delivery, { state: 'queued', lease_until: null, run_at, error });
}

/** Returns a notification to the queue because the service is stopping. It costs no attempt. */
export async function releaseDelivery(db: Queries, delivery: Delivery): Promise<void> {
  await update(db, delivery, { state: 'queued', lease_until: null, attempts: delivery.attempts - 1 });
}

async function update(
  db: Queries,
  { id, attempts }: Delivery,
  columns: Updateable<Database['notices']> & { readonly state: DeliveryState },
): Promise<DeliveryState | undefined> {
  const { numUpdatedRows } = await db
    .updateTable('notices')
    .set(columns)
    .where(isHeld({ id, epoch: attempts }))
    .executeTakeFirst();
  return numUpdatedRows > 0n ? columns.state : undefined;
}

/** Removes sent notifications after a week and failed ones after a month. */
export async function pruneDeliveries(db: Queries, now: number): Promise<void> {
  for (const [state, keptMs] of [
    ['sent', sentKeptMs],
    ['failed', failedKeptMs],
  ] as const)
    await db
      .deleteFrom('notices')
      .where('state', '=', state)
      .where('finished_at', '<', isoMicros(now - keptMs))
      .execute();
}

/** Newest first. */
export async function listDeliveries(
  db: Queries,
  destinationId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly deliveries: DeliveryRecord[] }> {
  const query = db.selectFrom('notices').where('destination_id', '=', destinationId);
  const { count } = await query.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await query.selectAll().orderBy('id', 'desc').limit(page.limit).offset(page.offset).execute();
  return { count: Number(count), deliveries: rows.map(toDeliveryRecord) };
}

export async function findDelivery(
  db: Queries,
  destinationId: string,
  id: string,
): Promise<DeliveryRecord | undefined> {
  const row = await db
    .selectFrom('notices')
    .selectAll()
    .where('destination_id', '=', destinationId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row && toDeliveryRecord(row);
}

type NoticeRow = Selectable<Database['notices']>;

function toDelivery(row: NoticeRow): Delivery {
  return {
    id: row.id,
    destinationId: row.destination_id,
    notice: noticeIn(row),
    attempts: row.attempts,
    attemptsMax: row.attempts_max,
  };
}

function toDeliveryRecord(row: NoticeRow): DeliveryRecord {
  return {
    id: row.id,
    destination: row.destination_id,
    state: row.state,
    attempts: row.attempts,
    attempts_max: row.attempts_max,
    next_attempt_at: row.state === 'queued' ? row.run_at : null,
    error: row.error,
    created_at: row.created_at,
    finished_at: row.finished_at,
    notice: noticeIn(row),
  };
}

function noticeIn({ notice }: NoticeRow): Notice {
  return JSON.parse(notice) as Notice;
}
