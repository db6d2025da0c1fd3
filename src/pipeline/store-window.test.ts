/** A project that is deleted while its events are being processed, on both engines of the metadata store. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Metadata } from '../stores/metadata/database.ts';
import { createProject, deleteProject, getProject } from '../stores/metadata/projects.ts';
import { definePlugin, type TransformEvent } from '../plugins/plugin.ts';
import { kyselyOf, openPglite } from '../../test/support/pglite.ts';
import { createBench, receivedAt, uuid, type Bench } from '../../test/support/pipeline.ts';
import { createRecordingStore } from '../../test/support/event-store-double.ts';

const dropSome = definePlugin({
  kind: 'transformation',
  slug: 'drop-some',
  name: 'Drop some',
  description: 'Drops events, and fails.',
  version: '1',
  fields: [],
  example: { settings: {}, before: { event: 'a', distinct_id: 'b', properties: {} }, after: null },
  create: () => (event: TransformEvent) => {
    if (event.event === 'failing') throw new Error('no');
    return event.event === 'dropped' ? null : event;
  },
});

/** Appends events that write to every table of a window. */
async function fill(bench: Bench, projectId: number): Promise<void> {
  const event = (n: number, name: string, id: string, properties: object = {}) => ({
    event: name,
    distinct_id: id,
    uuid: uuid(n),
    timestamp: new Date(receivedAt - 1000).toISOString(),
    properties,
  });
  const group = { $group_type: 'company', $group_key: 'k', $group_set: { a: 1 } };
  const batch = [
    event(1, 'seen', 'device'),
    event(2, '$identify', 'user', { $anon_distinct_id: 'device', $set: { a: 1 } }),
    event(3, '$groupidentify', 'user', group),
    event(4, 'dropped', 'user'),
    event(5, 'failing', 'user'),
    { event: 'no id' },
  ];
  await bench.append('live', { batch }, { events: batch.length, projectId });
}

async function rowsOf(db: Metadata, projectId: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { name, columns } of await db.introspection.getTables()) {
    if (!columns.some((column) => column.name === 'project_id')) continue;
    const query = sql<{ n: number }>`select count(*) as n from ${sql.table(name)} where project_id = ${projectId}`;
    const n = Number((await query.execute(db)).rows[0]?.n);
    if (n > 0) counts[name] = n;
  }
  return counts;
}

describe.each([
  ['SQLite', undefined],
  ['PGlite', async () => kyselyOf(await openPglite())],
])('a window of which a project is deleted before it is committed, on %s', (_, open) => {
  it('leaves no rows of that project and all rows of the other', async () => {
    const db = await open?.();
    const recording = createRecordingStore();
    let deletion: (() => Promise<boolean>) | undefined;
    // The rows are inserted, and the transaction has not begun.
    const insertBatch: typeof recording.store.insertBatch = async (rows, token) => {
      await recording.store.insertBatch(rows, token);
      const deleteNow = deletion;
      deletion = undefined;
      expect(await deleteNow?.()).not.toBe(false);
    };
    const bench = await createBench({
      plugins: [dropSome],
      recording: { ...recording, store: { ...recording.store, insertBatch } },
      ...(db === undefined ? {} : { db }),
    });
    try {
      const { projectId: doomed } = bench;
      await bench.addTransformation('drop-some');
      const organization = await bench.db.selectFrom('organizations').select('id').executeTakeFirstOrThrow();
      const other = { organizationId: organization.id, name: 'kept' };
      const kept = await createProject(bench.db, other, receivedAt);
      await fill(bench, doomed);
      await bench.drain();
      const before = await rowsOf(bench.db, doomed);
      expect(Object.keys(before).toSorted()).toEqual([
        'activity_log',
        'dead_letters',
        'group_types',
        'groups',
        'ingestion_warnings',
        'person_distinct_ids',
        'persons',
        'plugin_configs',
        'plugin_errors',
        'plugin_metrics',
      ]);
      await bench.stop();

      await fill(bench, doomed);
      await fill(bench, kept.id);
      deletion = () => deleteProject(bench.db, doomed);
      await bench.drain();
      expect(deletion).toBeUndefined();
      expect(await getProject(bench.db, doomed)).toBeUndefined();
      expect(await rowsOf(bench.db, doomed)).toEqual({});
      expect(await rowsOf(bench.db, kept.id)).toEqual({
        dead_letters: 1,
        group_types: 1,
        groups: 1,
        ingestion_warnings: 1,
        person_distinct_ids: 2,
        persons: 1,
      });
      expect((await createProject(bench.db, other, receivedAt)).id).toBeGreaterThan(kept.id);
    } finally {
      await bench[Symbol.asyncDispose]();
      await db?.destroy();
    }
  });
});
