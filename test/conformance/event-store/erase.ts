import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventStore } from '../../../src/stores/events/eventstore.ts';
import { idsPerStatement } from '../../../src/stores/events/erase-sql.ts';
import type { EventFilter } from '../../../src/stores/events/filters.ts';
import type { EventRow } from '../../../src/stores/events/rows.ts';
import { filesWith } from '../../support/store-bytes.ts';
import { countRows, dayMicros, insertRows, newProject, testRow, type StoreUnderTest } from './event-store.ts';

/**
 * Unusual ids and names, each of which must match itself and nothing else. Each erasure writes every part of the store again, so one
 * text has what would break out of a literal, one what a literal cannot hold, and one what a pattern would match.
 */
const hostile = ["o'brien') OR 1=1 -- a\\", 'nul\u0000byte 😀 ü', '12345678901234567890', `${'x'.repeat(200)}*%_`];

/** Differs in the last character, which a wildcard of the engine (`%`, `_`) would also match. */
const near = (text: string): string => `${text.slice(0, -1)}-`;

/** A store with a directory is checked by the bytes of its files, another one by what the engine reports. */
export function eraseConformance(name: string, open: () => Promise<StoreUnderTest & { readonly dir?: string }>): void {
  describe(`event store conformance, erasing: ${name}`, () => {
    let under: Awaited<ReturnType<typeof open>>;
    let store: EventStore;
    beforeAll(async () => {
      under = await open();
      ({ store } = under);
    });
    afterAll(async () => under.close());

    const erase = (projectId: number, filter: EventFilter): Promise<void> => store.erase({ projectId, filter });
    const left = async (project: number): Promise<string[]> => {
      const sql = 'SELECT distinct_id FROM events FINAL WHERE project_id = {project:Int32} ORDER BY distinct_id';
      return (await store.query<{ distinct_id: string }>(sql, { project })).map((row) => row.distinct_id);
    };
    const withText = (...texts: string[]): string[] => (under.dir === undefined ? [] : filesWith(under.dir, texts));
    /** Counts stored rows, including those that are only marked as deleted. */
    const stored = async (project: number): Promise<number> => {
      const sql = 'SELECT count() AS c FROM events WHERE project_id = {project:Int32} SETTINGS apply_deleted_mask = 0';
      return Number((await store.query<{ c: string }>(sql, { project }))[0]?.c);
    };
    const insert = (project: number, rows: readonly Partial<EventRow>[]): Promise<void> =>
      insertRows(
        store,
        `erase-${randomUUID()}`,
        rows.map((row) => testRow(project, row)),
      );

    it('removes all rows of the ids over all months, hidden ones too, and those of no other id or project', async () => {
      const [project, other] = [newProject(), newProject()];
      const canary = `canary-${randomUUID()}`;
      const months = Array.from({ length: 6 }, (_, at) => 19_000 + at * 31);
      const rows = months.flatMap((keyDay) =>
        [canary, 'kept'].map((distinctId) => ({
          keyDay,
          distinctId,
          uuid: randomUUID(),
          properties: `{"of":"${distinctId}"}`,
        })),
      );
      await insert(project, rows);
      const copies = rows.map(({ keyDay, distinctId, uuid }) => ({
        keyDay,
        distinctId,
        uuid,
        receivedAtMicros: 1_760_000_000_000_000,
      }));
      await insert(project, copies);
      await insert(other, [{ distinctId: canary.slice(0, -1) }, { distinctId: 'kept' }]);
      expect(withText(canary).length > 0).toBe(under.dir !== undefined);
      await erase(project, { distinctIds: [canary] });
      expect(await left(project)).toEqual(months.map(() => 'kept'));
      expect((await countRows(store, other)).shown).toBe(2);
      expect(withText(canary, Buffer.from(canary).toString('hex'))).toEqual([]);
      const [replaced] = await store.query<{ c: string }>(
        'SELECT count() AS c FROM system.mutations WHERE database = currentDatabase() AND position(command, {hex:String}) > 0',
        { hex: Buffer.from(canary).toString('hex') },
      );
      expect(replaced).toEqual({ c: '0' });
      await erase(project, { distinctIds: [canary] });
      expect(await left(project)).toHaveLength(months.length);
    });

    it('removes the bytes of rows that an undo has only marked', async () => {
      const project = newProject();
      const canary = `undone-${randomUUID()}`;
      const keyDay = 19_700;
      await insert(project, [
        { keyDay, distinctId: canary, importRun: 'run-1', properties: '{"a":1,"$import_run_id":"run-1"}' },
        { keyDay, distinctId: 'kept' },
      ]);
      await store.deleteRun({ projectId: project, runId: 'run-1', from: '1970-01-01', to: '2100-01-01' });
      await erase(project, { distinctIds: [canary] });
      expect(await left(project)).toEqual(['kept']);
      expect(await stored(project)).toBe(1);
      expect(withText(canary)).toEqual([]);
    });

    it('matches hostile ids, names and values as they are', async () => {
      const project = newProject();
      // One condition of each of the last three does not hold, and they stay.
      const rows = hostile.flatMap((text) => [
        { distinctId: text, event: text, properties: JSON.stringify({ [text]: text }) },
        { distinctId: near(text), event: text, properties: JSON.stringify({ [text]: text }) },
        { distinctId: text, event: near(text), properties: JSON.stringify({ [text]: text }) },
        { distinctId: text, event: text, properties: JSON.stringify({ [text]: near(text) }) },
      ]);
      await insert(project, rows);
      const contents = async (): Promise<unknown[]> =>
        await store.query(
          'SELECT distinct_id AS distinctId, event, properties FROM events FINAL WHERE project_id = {project:Int32} ORDER BY ALL',
          { project },
        );
      const before = await contents();
      expect(before).toHaveLength(rows.length);
      // In turn, as erasures are executed.
      for (const [at, text] of hostile.entries()) {
        const properties = [{ key: text, operator: 'exact', values: [text] }] as const;
        await erase(project, { distinctIds: [text], event: text, properties });
        const erased = hostile.slice(0, at + 1);
        expect(await contents()).toEqual(before.filter((row) => !erased.some((each) => isWholly(row, each))));
      }
    });

    it('selects by time, kind, run and exact numbers, all of which must match', async () => {
      const project = newProject();
      const at = (day: number): Partial<EventRow> => ({ keyDay: day, timestampMicros: day * dayMicros + 5 });
      await insert(project, [
        { ...at(19_000), distinctId: 'early' },
        { ...at(19_001), distinctId: 'first' },
        { ...at(19_002), distinctId: 'end' },
        {
          ...at(19_500),
          distinctId: 'old',
          historical: true,
          importRun: 'run-9',
          properties: '{"$import_run_id":"run-9"}',
        },
        { ...at(19_500), distinctId: 'big', properties: '{"n":9007199254740993}' },
        { ...at(19_500), distinctId: 'bigger', properties: '{"n":9007199254740994}' },
      ]);
      const time = { after: 19_001n * BigInt(dayMicros), before: 19_002n * BigInt(dayMicros) + 5n };
      await erase(project, { ...time, historical: true });
      expect(await left(project)).toHaveLength(6);
      await erase(project, time);
      expect(await left(project)).toEqual(['big', 'bigger', 'early', 'end', 'old']);
      await erase(project, { run: 'run-9', historical: true });
      await erase(project, { properties: [{ key: 'n', operator: 'gt', values: ['9007199254740993'] }] });
      expect(await left(project)).toEqual(['big', 'early', 'end']);
    });

    it('an empty list of ids matches nothing, no condition the whole project', async () => {
      const [project, other] = [newProject(), newProject()];
      await insert(project, [{ distinctId: 'a' }, { distinctId: 'b' }]);
      await insert(other, [{ distinctId: 'c' }]);
      await erase(project, { distinctIds: [] });
      expect(await left(project)).toEqual(['a', 'b']);
      await erase(project, {});
      expect(await stored(project)).toBe(0);
      expect(await left(other)).toEqual(['c']);
    });

    it('erases more ids than one statement of the engine has in one call', async () => {
      const project = newProject();
      const ids = Array.from({ length: idsPerStatement + 1 }, (_, at) => `id-${at}-'\\`);
      await insert(
        project,
        [...ids, 'kept'].map((distinctId) => ({ distinctId })),
      );
      await erase(project, { distinctIds: ids });
      expect(await left(project)).toEqual(['kept']);
      expect(await stored(project)).toBe(1);
    });
  });
}

function isWholly(row: unknown, text: string): boolean {
  const { distinctId, event, properties } = row as Pick<EventRow, 'distinctId' | 'event' | 'properties'>;
  return distinctId === text && event === text && properties === JSON.stringify({ [text]: text });
}
