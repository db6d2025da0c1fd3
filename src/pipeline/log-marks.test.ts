/** How long records are kept after they are stored, on both engines of the metadata store. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempMetadata } from '../../test/support/metadata.ts';
import { kyselyOf, openPglite } from '../../test/support/pglite.ts';
import type { Lane } from '../log/eventlog.ts';
import { migrate } from '../stores/metadata/migrate.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import { createSlots, seizeSlot } from '../stores/metadata/slot-leases.ts';
import { expiredPlaces } from './log-marks.ts';
import { keepLog } from './slots/slot-consumers.ts';

const hourMs = 3_600_000;
const minuteMs = 60_000;
const keepMs = 2 * hourMs;

describe.each([
  ['SQLite', tempMetadata],
  [
    'PostgreSQL',
    async () => {
      const db = kyselyOf(await openPglite());
      await migrate(db, 'postgres');
      return { db, [Symbol.asyncDispose]: () => db.destroy() };
    },
  ],
] as const)('records that are kept after they are stored, on %s', (_engine, open) => {
  let db: Metadata;
  const parts = new AsyncDisposableStack();
  beforeAll(async () => {
    ({ db } = parts.use(await open()));
  });
  afterAll(() => parts.disposeAsync());

  const place = (slot: number, seq: number, handled = 0, lane: Lane = 'live') => ({ lane, slot, seq, handled });
  /** As if the time had passed since every mark. */
  const pass = (ms: number) =>
    db
      .updateTable('log_marks')
      .set({ stored_at: sql`stored_at - ${ms}` })
      .execute();
  const marks = async (slot: number): Promise<number> =>
    (await db.selectFrom('log_marks').select('seq').where('slot', '=', slot).execute()).length;

  it('may be deleted once they were stored for that time, whichever process asks, and not before', async () => {
    expect(await expiredPlaces(db, [place(1, 9_007_199_254_740_000), place(1, 5, 0, 'historical')], keepMs)).toEqual(
      [],
    );
    await pass(keepMs - 5 * minuteMs);
    // Stored only now.
    const later = [place(1, 9_007_199_254_740_123), place(1, 7, 0, 'historical')];
    expect(await expiredPlaces(db, later, keepMs)).toEqual([]);
    await pass(5 * minuteMs);
    const due = [
      { lane: 'live', slot: 1, seq: 9_007_199_254_740_000 },
      { lane: 'historical', slot: 1, seq: 5 },
    ];
    expect(await expiredPlaces(db, later, keepMs)).toEqual(due);
    // Until the deletion is reported as done, and after a restart.
    expect(await expiredPlaces(db, later, keepMs)).toEqual(due);
    expect(await expiredPlaces(db, [place(1, 9_007_199_254_740_123, 9_007_199_254_740_000)], keepMs)).toEqual([]);
    await pass(keepMs);
    expect(await expiredPlaces(db, later, keepMs)).toMatchObject([{ seq: 9_007_199_254_740_123 }, { seq: 7 }]);
  });

  it('need few marks, however often it is asked and however much is stored', async () => {
    const stepMs = keepMs / 24;
    let deleted = 0;
    const agesMs: number[] = [];
    for (let minute = 0; minute < 300; minute += 1) {
      const seq = 1000 + minute * 10;
      const [due] = await expiredPlaces(db, [place(2, seq, deleted)], keepMs);
      if (due !== undefined) agesMs.push(((seq - due.seq) / 10) * minuteMs);
      deleted = due?.seq ?? deleted;
      await pass(minuteMs);
    }
    // How long ago the last of the deleted records was stored.
    expect(Math.min(...agesMs)).toBeGreaterThanOrEqual(keepMs);
    expect(Math.max(...agesMs)).toBeLessThanOrEqual(keepMs + stepMs + minuteMs);
    expect(deleted).toBeGreaterThan(2500);
    expect(await marks(2)).toBeLessThanOrEqual(26);
  });

  it('of a slot that stores nothing more are deleted in the end', async () => {
    await expiredPlaces(db, [place(3, 10)], keepMs);
    await pass(minuteMs);
    await expiredPlaces(db, [place(3, 12)], keepMs);
    await pass(keepMs / 24);
    await expiredPlaces(db, [place(3, 12)], keepMs);
    await pass(keepMs);
    expect(await expiredPlaces(db, [place(3, 12)], keepMs)).toEqual([{ lane: 'live', slot: 3, seq: 12 }]);
  });

  it('of a new log are not deleted by marks of the old one', async () => {
    await createSlots(db, 8);
    await expiredPlaces(db, [place(4, 1000)], keepMs);
    await pass(keepMs);
    await keepLog(db, await seizeSlot(db, 4, 'worker'), 'new-log-4');
    expect(await expiredPlaces(db, [place(4, 6)], keepMs)).toEqual([]);
    await pass(keepMs);
    expect(await expiredPlaces(db, [place(4, 8)], keepMs)).toEqual([{ lane: 'live', slot: 4, seq: 6 }]);
  });
});
