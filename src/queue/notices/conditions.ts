import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { minuteMs } from '../../base/time.ts';
import type { NoticeEvent, noticeEvents } from '../../wire/contract/notices.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { enqueueNotice, type NoticeInput } from './outbox.ts';

/**
 * Conditions that last are reported once when they begin and once when they end. Each check of the store is compared with the
 * conditions seen before; a change is recorded and reported in one transaction, guarded by the row's previous state, so that
 * only one of several processes reports it.
 */
type StateEvent = {
  [E in NoticeEvent]: (typeof noticeEvents)[E]['kind'] extends 'state' ? E : never;
}[NoticeEvent];

/** A lasting condition in its present state. */
export interface Condition {
  /** Unique name of the condition: `config 12`. */
  readonly subject: string;
  readonly notice: Omit<NoticeInput, 'state' | 'event'> & { readonly event: StateEvent };
  /** One sentence that reports the recovery. Empty means that recovery is not reported. */
  readonly recovered: string;
}

/** How long a condition must last before it is reported; a shorter one is not worth a report. */
const lastsMs: Readonly<Record<StateEvent, number>> = {
  run_waiting: 5 * minuteMs,
  config_failing: 0,
  schedule_failing: 0,
  dead_letters_high: 0,
  tracking_plan_violated: 0,
  project_limited: 0,
  disk_low: 0,
  lag_high: 0,
};

/** How long a condition must be absent before recovery is reported: a config that fails on every other event is still failing. */
const overMs = 5 * minuteMs;

/** The data needed to report a recovery. */
interface Standing {
  readonly event: StateEvent;
  readonly target: string;
  readonly recovered: string;
}

type ConditionRow = Selectable<Database['notice_conditions']>;

/** `found` lists all present conditions. `now` is in ms, by the clock of the database. */
export async function settleConditions(db: Metadata, found: readonly Condition[], now: number): Promise<void> {
  const rows = await db.selectFrom('notice_conditions').selectAll().execute();
  const known = new Map(rows.map((row) => [row.subject, row]));
  for (const condition of found) {
    await settleFound(db, condition, known.get(condition.subject), now);
    known.delete(condition.subject);
  }
  for (const row of known.values()) await settleGone(db, row, now);
}

/** Forgets all conditions when there is no listener; those present when one appears are news to it. */
export async function forgetConditions(db: Queries): Promise<void> {
  await db.deleteFrom('notice_conditions').execute();
}

async function settleFound(
  db: Metadata,
  condition: Condition,
  row: ConditionRow | undefined,
  now: number,
): Promise<void> {
  if (row === undefined) await begin(db, condition, now);
  const isReported = row !== undefined && row.told_at !== null;
  if (row !== undefined && row.clear_since !== null) {
    await rowOf(db, row).set({ clear_since: null }).execute();
  }
  const seenAt = row === undefined ? now : Date.parse(row.seen_at);
  if (isReported || now - seenAt < lastsMs[condition.notice.event]) return;
  await db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await rowOf(tx, condition)
      .set({ told_at: isoMicros(now) })
      .where('told_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) await enqueueNotice(tx, { ...condition.notice, state: 'raised' }, now);
  });
}

async function begin(db: Queries, { subject, notice, recovered }: Condition, now: number): Promise<void> {
  const standing: Standing = { event: notice.event, target: notice.target, recovered };
  await db
    .insertInto('notice_conditions')
    .values({
      subject,
      project_id: notice.projectId,
      standing: JSON.stringify(standing),
      seen_at: isoMicros(now),
      told_at: null,
      clear_since: null,
    })
    .onConflict((conflict) => conflict.column('subject').doNothing())
    .execute();
}

async function settleGone(db: Metadata, row: ConditionRow, now: number): Promise<void> {
  if (row.told_at === null) return forget(db, row);
  if (row.clear_since === null) {
    await rowOf(db, row)
      .set({ clear_since: isoMicros(now) })
      .execute();
    return;
  }
  if (now - Date.parse(row.clear_since) < overMs) return;
  const { event, target, recovered } = JSON.parse(row.standing) as Standing;
  await db.transaction().execute(async (tx) => {
    const gone = await tx
      .deleteFrom('notice_conditions')
      .where('subject', '=', row.subject)
      .where('clear_since', '=', row.clear_since)
      .returning('subject')
      .executeTakeFirst();
    if (gone === undefined || recovered === '') return;
    const notice = { event, target, summary: recovered, action: '', details: {}, projectId: row.project_id } as const;
    await enqueueNotice(tx, { ...notice, state: 'recovered' }, now);
  });
}

async function forget(db: Queries, { subject, seen_at: seenAt }: ConditionRow): Promise<void> {
  await db
    .deleteFrom('notice_conditions')
    .where('subject', '=', subject)
    .where('seen_at', '=', seenAt)
    .where('told_at', 'is', null)
    .execute();
}

function rowOf(db: Queries, { subject }: Pick<ConditionRow, 'subject'>) {
  return db.updateTable('notice_conditions').where('subject', '=', subject);
}
