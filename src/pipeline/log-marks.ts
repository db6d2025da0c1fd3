import { sql } from 'kysely';
import type { Lane } from '../log/eventlog.ts';
import type { PendingPlace, StoredPlace } from '../log/stored-places.ts';
import { databaseTime } from '../stores/metadata/database-clock.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import type { Queries } from '../stores/metadata/queries.ts';

const marksPerTime = 24;
/** Limits how many records one deletion covers. */
const stepMsMax = 15 * 60_000;

/**
 * Records what is stored at present, and returns how far the records were stored at least `keepMs` ago, where that is beyond
 * `handled`. A mark of a slot and lane is written at most every 24th part of that time, and they survive restarts and changes of the
 * slot's holder: a record is kept for at least `keepMs`, and at most that part longer.
 */
export async function expiredPlaces(
  db: Metadata,
  places: readonly PendingPlace[],
  keepMs: number,
): Promise<readonly StoredPlace[]> {
  if (places.length === 0) return [];
  const stepMs = Math.min(stepMsMax, keepMs / marksPerTime);
  return await db.transaction().execute(async (tx) => {
    const now = databaseTime(tx);
    const found = await tx
      .selectFrom('log_marks')
      .select((eb) => [
        'slot',
        'lane',
        eb.fn.max('seq').as('last'),
        sql<number>`sum(case when stored_at > ${now} - ${stepMs} then 1 else 0 end)`.as('recent'),
        sql<number | null>`max(case when stored_at <= ${now} - ${keepMs} then seq end)`.as('expired'),
      ])
      .where('slot', 'in', [...new Set(places.map(({ slot }) => slot))])
      .groupBy(['slot', 'lane'])
      .execute();
    const marks = new Map(found.map((each) => [`${each.lane}/${each.slot}`, each]));
    const expired: StoredPlace[] = [];
    for (const place of places) {
      const marked = marks.get(`${place.lane}/${place.slot}`);
      const through = Math.min(Number(marked?.expired ?? 0), place.seq);
      if (through > place.handled) expired.push({ lane: place.lane, slot: place.slot, seq: through });
      if (Number(marked?.recent ?? 0) === 0 && place.seq > Number(marked?.last ?? 0)) await mark(tx, place);
    }
    await dropMarksBefore(tx, expired);
    return expired;
  });
}

async function mark(tx: Queries, { lane, slot, seq }: StoredPlace): Promise<void> {
  await tx
    .insertInto('log_marks')
    .values({ lane, slot, seq, stored_at: databaseTime(tx) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Keeps the last expired mark, until the next one expires: a deletion may have to be repeated. */
async function dropMarksBefore(tx: Queries, places: readonly StoredPlace[]): Promise<void> {
  for (const { lane, slot, seq } of places) {
    await tx.deleteFrom('log_marks').where('lane', '=', lane).where('slot', '=', slot).where('seq', '<', seq).execute();
  }
}

/** Returns the places from which on records must be kept: of each slot and lane the last one that has expired, or the first. */
export async function keptFrom(db: Queries, keepMs: number): Promise<readonly StoredPlace[]> {
  const isExpired = sql`stored_at <= ${databaseTime(db)} - ${keepMs}`;
  const rows = await db
    .selectFrom('log_marks')
    .select(['slot', 'lane', sql<number>`coalesce(max(case when ${isExpired} then seq end), min(seq))`.as('seq')])
    .groupBy(['slot', 'lane'])
    .execute();
  return rows.map(({ slot, lane, seq }) => ({ slot, lane: lane as Lane, seq: Number(seq) }));
}

/** Forgets the marks of a time when records were kept. */
export async function dropMarks(db: Queries): Promise<void> {
  await db.deleteFrom('log_marks').execute();
}
