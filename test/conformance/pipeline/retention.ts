import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isoMicros } from '../../../src/base/clock.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import type { DeadLetterState } from '../../../src/stores/metadata/tables/pipeline.ts';
import { beginReplay, cancelReplay, listReplays } from '../../../src/pipeline/dead-letter-replays.ts';
import { addDeadLetters, deadRecord } from '../../../src/pipeline/dead-letters.ts';
import { pruneActivity, pruneCounts, pruneDeadLetters } from '../../../src/pipeline/retention.ts';

const day = 86_400_000;
const now = Date.parse('2026-11-19T08:00:00.000Z');

/** The removal of old rows on a real store without dead letters and counts. */
export function testRetention(open: () => Promise<{ readonly db: Metadata } & AsyncDisposable>): void {
  let store: { readonly db: Metadata } & AsyncDisposable;
  let db: Metadata;
  beforeEach(async () => {
    store = await open();
    db = store.db;
    const times = { created_at: isoMicros(now), updated_at: isoMicros(now) };
    const organization = { id: 'kept', name: 'Kept', created_at: isoMicros(now) };
    await db
      .insertInto('organizations')
      .values(organization)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    for (const id of [1, 2]) {
      const names = { uuid: `kept-${id}`, name: `Kept ${id}`, api_token: `phc_kept${id}`, timezone: 'UTC' };
      await db
        .insertInto('projects')
        .values({ id, organization_id: organization.id, ...names, ...times })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    }
  });
  afterEach(() => store[Symbol.asyncDispose]());

  let seq = 0;
  const add = async (daysAgo: number, state: DeadLetterState = 'open', projectId = 1): Promise<string> => {
    const place = {
      logId: 'log',
      lane: 'live',
      seq: seq++,
      index: -1,
      projectId,
      receivedAt: now - daysAgo * day,
    } as const;
    const row = deadRecord(place, { reason: 'processing_failed', detail: 'd', attr: null }, Buffer.from('{}'));
    await addDeadLetters(db, [row]);
    await db.updateTable('dead_letters').set({ state }).where('id', '=', row.id).execute();
    return row.id;
  };
  const left = async (): Promise<string[]> =>
    (await db.selectFrom('dead_letters').select('id').orderBy('received_at').execute()).map(({ id }) => id);

  describe('retention of dead letters', () => {
    it('removes letters that are older, in every state and project, also those of no project', async () => {
      for (const projectId of [0, 1, 2]) {
        for (const state of ['open', 'replayed', 'discarded'] as const) await add(31, state, projectId);
      }
      const kept = [await add(29), await add(29, 'discarded', 0), await add(1, 'replayed', 2)];
      expect(await pruneDeadLetters(db, { now, days: 30 })).toBe(9);
      expect(new Set(await left())).toEqual(new Set(kept));
      expect(await pruneDeadLetters(db, { now, days: 30 })).toBe(0);
    });

    it('keeps all of them without a limit by age, up to the number', async () => {
      await add(5000);
      expect(await pruneDeadLetters(db, { now, days: 0 })).toBe(0);
      expect(await left()).toHaveLength(1);
    });

    it('beyond the number removes the oldest, decided ones first, and none of another project', async () => {
      const [open, other] = [await add(20), await add(30, 'open', 2)];
      await add(19, 'replayed');
      await add(18, 'discarded');
      const recent = [await add(17), await add(16)];
      expect(await pruneDeadLetters(db, { now, days: 365, max: 3 })).toBe(2);
      expect(await left()).toEqual([other, open, ...recent]);
      expect(await pruneDeadLetters(db, { now, days: 365, max: 2 })).toBe(1);
      expect(await left()).toEqual([other, ...recent]);
    });

    it('keeps letters of a replay until it has ended, then removes both', async () => {
      const id = await add(31);
      const asked = { projectId: 1, filter: { after: '2020-01-01' }, choice: {} };
      const replay = await beginReplay(db, { ...asked, now: now - 31 * day });
      expect(await pruneDeadLetters(db, { now, days: 30 })).toBe(0);
      expect(await left()).toEqual([id]);
      await cancelReplay(db, 1, replay, now - 31 * day);
      expect(await pruneDeadLetters(db, { now, days: 30 })).toBe(1);
      expect((await listReplays(db, 1, { limit: 10, offset: 0 })).count).toBe(0);
    });

    it('removes more than it deletes at a time', async () => {
      for (let n = 0; n < 12; n += 1) await add(40);
      const rows = await db.selectFrom('dead_letters').selectAll().execute();
      for (let copy = 0; copy < 100; copy += 1) {
        const values = rows.map((row) => Object.assign({}, row, { id: `${copy}-${row.id}` }));
        await db.insertInto('dead_letters').values(values).execute();
      }
      expect(await pruneDeadLetters(db, { now, days: 30 })).toBe(1212);
      expect(await left()).toEqual([]);
    });
  });

  describe('retention of the activity log', () => {
    beforeEach(async () => {
      await db.deleteFrom('activity_log').where('organization_id', '=', 'kept').execute();
    });

    const note = async (daysAgo: number, item: string, projectId: number | null = 1): Promise<string> => {
      const id = `${String(seq++).padStart(6, '0')}-${item}`;
      const who = { organization_id: 'kept', user_id: null, user_name: null, key_id: null, request_id: null };
      const what = {
        scope: 'PluginConfig',
        item_id: item,
        activity: 'updated',
        name: item,
        changes: '[]',
        snapshot: '{}',
      };
      const row = { id, project_id: projectId, is_system: 0, created_at: isoMicros(now - daysAgo * day) };
      await db
        .insertInto('activity_log')
        .values({ ...row, ...who, ...what })
        .execute();
      return id;
    };
    const entries = async (): Promise<string[]> =>
      (
        await db.selectFrom('activity_log').select('id').where('organization_id', '=', 'kept').orderBy('id').execute()
      ).map(({ id }) => id);

    it('removes older entries, and keeps the newest of these of each item', async () => {
      await note(50, 'a');
      await note(40, 'a');
      const kept = [await note(31, 'a'), await note(10, 'a'), await note(90, 'b')];
      await note(70, 'a', 2);
      kept.push(await note(60, 'a', 2));
      await note(50, 'org', null);
      kept.push(await note(40, 'org', null));
      expect(await pruneActivity(db, { now, days: 30 })).toBe(4);
      expect(await entries()).toEqual(kept);
      expect(await pruneActivity(db, { now, days: 30 })).toBe(0);
    });

    it('of two entries at the same time keeps the later one', async () => {
      await note(40, 'a');
      const kept = await note(40, 'a');
      expect(await pruneActivity(db, { now, days: 30 })).toBe(1);
      expect(await entries()).toEqual([kept]);
    });

    it('removes more than it deletes at a time, and nothing without a limit', async () => {
      for (let n = 0; n < 1001; n += 1) await note(40, 'a');
      expect(await pruneActivity(db, { now, days: 0 })).toBe(0);
      expect(await pruneActivity(db, { now, days: 30 })).toBe(1000);
      expect(await entries()).toHaveLength(1);
    });
  });

  it('hourly counts are removed by age', async () => {
    const at = (daysAgo: number): string => isoMicros(now - daysAgo * day);
    for (const daysAgo of [401, 399]) {
      const common = { project_id: 1, hour: at(daysAgo) };
      await db
        .insertInto('ingestion_warnings')
        .values({ ...common, type: 'invalid_event', count: 1, last_seen: at(daysAgo), samples: '[]' })
        .execute();
      await db
        .insertInto('plugin_metrics')
        .values({ ...common, config_id: 1, succeeded: 1, failed: 0, dropped: 0 })
        .execute();
      await db
        .insertInto('plugin_own_metrics')
        .values({ ...common, config_id: 1, name: 'n', kind: 'sum', value: 1 })
        .execute();
    }
    await pruneCounts(db, { now, days: 400 });
    for (const table of ['ingestion_warnings', 'plugin_metrics', 'plugin_own_metrics'] as const) {
      expect(await db.selectFrom(table).select('hour').execute()).toEqual([{ hour: at(399) }]);
    }
  });
}
