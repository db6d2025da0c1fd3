import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBench, uuid, type Bench } from '../../test/support/pipeline.ts';
import { definePlugin } from '../plugins/plugin.ts';
import { createProject } from '../stores/metadata/projects.ts';
import { countKeptOut, findKeptOut, keepOut, removeKeptOut } from '../stores/metadata/kept-out-ids.ts';

/** Ids that the transformation has seen. */
const seen: string[] = [];
/** Gives events of "other name" an erased id. */
const transformation = definePlugin({
  kind: 'transformation',
  slug: 'same-person',
  name: 'Same person',
  description: '',
  version: '1',
  fields: [],
  example: { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null },
  create: () => (event) => {
    seen.push(event.distinct_id);
    return event.distinct_id === 'other name' ? { ...event, distinct_id: 'erased' } : event;
  },
});

let bench: Bench;
beforeEach(async () => {
  seen.length = 0;
  bench = await createBench({ plugins: [transformation] });
});
afterEach(() => bench[Symbol.asyncDispose]());

const dirty = ["ada'\\é", '12345678901234567890', '"; drop table', 'x'.repeat(200)];
const keep = (ids: readonly string[], projectId = bench.projectId): Promise<void> =>
  bench.db.transaction().execute((tx) => keepOut(tx, projectId, ids));
const remove = (ids?: readonly string[]): Promise<number> =>
  bench.db.transaction().execute((tx) => removeKeptOut(tx, bench.projectId, ids));
const event = (n: number, id: string, more: object = {}) => ({
  event: 'seen',
  distinct_id: id,
  uuid: uuid(n),
  timestamp: '2024-05-01T00:00:00Z',
  ...more,
});
const send = async (batch: readonly object[]): Promise<void> => {
  await bench.append('live', { batch });
  await bench.append('historical', { batch: batch.map((each, n) => ({ ...each, uuid: uuid(500 + n) })) });
  await bench.drain();
};
const stored = (): string[] => bench.recording.rows.map((row) => row.distinctId).sort();
const warnings = async (): Promise<unknown> =>
  Object.fromEntries((await bench.warnings()).map(({ type, count }) => [type, Number(count)]));

describe('ids that a project keeps out', () => {
  it('are stored as HMACs by a random key of the project, each once', async () => {
    const { db, projectId } = bench;
    const { organization_id: organizationId } = await db
      .selectFrom('projects')
      .select('organization_id')
      .executeTakeFirstOrThrow();
    const other = (await createProject(db, { organizationId, name: 'other' }, 0)).id;
    await keep(dirty);
    await keep([...dirty, 'one more']);
    await keep(dirty, other);
    const [mine, theirs] = [await findKeptOut(db, projectId), await findKeptOut(db, other)];
    const key = mine?.hashKey ?? '';
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    const expected = [...dirty, 'one more'].map((id) => createHmac('sha256', key).update(id, 'utf8').digest('hex'));
    expect(mine?.hashes.toSorted()).toEqual(expected.toSorted());
    expect(theirs?.hashes).toHaveLength(dirty.length);
    expect(theirs?.hashes.some((hash) => expected.includes(hash))).toBe(false);
  });

  it('have no event stored, live or historical, and no person; others of the batch are stored', async () => {
    await keep(dirty);
    const ids = [...dirty, 'x'.repeat(201), "ada'\\", '1234567890123456789'];
    await send(ids.flatMap((id, n) => [event(n, id), event(100 + n, id, { properties: { $set: { a: 1 } } })]));
    expect(new Set(stored())).toEqual(new Set(["ada'\\", '1234567890123456789']));
    expect(stored()).toHaveLength(8);
    for (const id of dirty) expect(await bench.person(id)).toBeUndefined();
    expect(await warnings()).toMatchObject({ id_kept_out: 20 });
    expect(await bench.deadLetters()).toEqual([]);
    const samples = await bench.db.selectFrom('ingestion_warnings').select('samples').execute();
    expect(JSON.stringify(samples)).not.toContain('12345678901234567890');
  });

  it('are linked to no other person', async () => {
    await keep(['erased']);
    await send([
      event(1, 'new', { event: '$identify', properties: { $anon_distinct_id: 'erased' } }),
      event(2, 'new', { event: '$create_alias', properties: { alias: 'erased' } }),
      event(3, 'new', { event: '$merge_dangerously', properties: { alias: 'erased' } }),
      event(4, 'new', { properties: { alias: 'erased', $anon_distinct_id: 'erased' } }),
    ]);
    expect(bench.recording.rows.map((row) => row.event)).toEqual(['seen', 'seen']);
    expect(await bench.person('new')).toMatchObject({ distinct_ids: ['new'] });
    expect(await bench.person('erased')).toBeUndefined();
  });

  it('are not passed to transformations, and not stored under the id that a transformation gives', async () => {
    await bench.addTransformation('same-person');
    await keep(['erased']);
    await send([event(1, 'erased'), event(2, 'other'), event(3, 'other name')]);
    expect(stored()).toEqual(['other', 'other']);
    expect(seen.toSorted()).toEqual(['other', 'other', 'other name', 'other name']);
  });

  it('are stored again once they are removed from the list, under another key after the last one', async () => {
    const { db, projectId } = bench;
    await keep(['a', 'b', 'c']);
    const before = (await findKeptOut(db, projectId))?.hashKey;
    await send([event(1, 'a'), event(2, 'b')]);
    expect(stored()).toEqual([]);
    expect(await remove(['a', 'unknown'])).toBe(1);
    await send([event(3, 'a'), event(4, 'b')]);
    expect(stored()).toEqual(['a', 'a']);
    expect(await remove()).toBe(2);
    expect([await countKeptOut(db, projectId), await findKeptOut(db, projectId), await remove()]).toEqual([
      0,
      undefined,
      0,
    ]);
    await keep(['a']);
    expect((await findKeptOut(db, projectId))?.hashKey).not.toBe(before);
    const rows = stored().length;
    await send([event(5, 'a'), event(6, 'b')]);
    expect(stored().slice(rows)).toEqual(['b', 'b']);
  });
});
