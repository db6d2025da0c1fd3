/** What the pipeline writes to the metadata store, on PostgreSQL's engine: the statements, the types and NUL in texts. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Metadata } from '../stores/metadata/database.ts';
import { findGroup } from './persons/read-groups.ts';
import { decideDeadLetters, listDeadLetters } from './dead-letter-queries.ts';
import { testReplays } from '../../test/conformance/pipeline/replay.ts';
import { testRetention } from '../../test/conformance/pipeline/retention.ts';
import { summarizeWarnings } from './read-warnings.ts';
import { kyselyOf, openPglite } from '../../test/support/pglite.ts';
import { createBench, uuid, type Bench } from '../../test/support/pipeline.ts';

let db: Metadata;
let bench: Bench;
beforeAll(async () => {
  db = kyselyOf(await openPglite());
  bench = await createBench({ db });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await db.destroy();
});

describe('the pipeline on PostgreSQL', () => {
  it('persons, merges, groups, warnings and dead letters', async () => {
    const event = (n: number, name: string, id: string, properties: object) => ({
      event: name,
      distinct_id: id,
      uuid: uuid(n),
      timestamp: '2026-11-20T11:00:00.123456Z',
      properties,
    });
    for (const round of [0, 10]) {
      const batch = [
        event(round + 1, 'seen', 'a\0b', { $set: { nul: '\0', lone: '\ud800', ['key\0']: 1 } }),
        event(round + 2, 'seen', 'device', { $set: { plan: 'x' } }),
        event(round + 3, '$identify', 'user', { $anon_distinct_id: 'device', $set: { b: round } }),
        event(round + 4, '$merge_dangerously', 'a\0b', { alias: 'user' }),
        event(round + 5, '$groupidentify', 'g', {
          $group_type: 'company\0',
          $group_key: 'k\0',
          $group_set: { c: '\0' },
        }),
        { event: 'no id \0', uuid: 'wrong \0' },
        event(round + 6, 'seen', 'long '.repeat(60), {}),
      ];
      await bench.append('live', { batch }, { events: 7 });
      await bench.drain();
      await bench.stop();
    }
    expect(await bench.person('device')).toMatchObject({
      distinct_ids: ['a\ufffdb', 'device', 'user'],
      properties: { plan: 'x', b: 10, nul: '\0', lone: '\ud800', ['key\0']: 1 },
      created_at: '2026-11-20T11:00:00.123456Z',
      is_identified: true,
    });
    expect(await findGroup(db, bench.projectId, 0, 'k\ufffd')).toMatchObject({ group_properties: { c: '\0' } });
    const letters = await listDeadLetters(db, bench.projectId, {}, { limit: 10, offset: 0 });
    expect(letters.map((row) => [row.reason, row.event])).toEqual([
      ['missing_distinct_id', 'no id \ufffd'],
      ['missing_distinct_id', 'no id \ufffd'],
    ]);
    expect(await decideDeadLetters(db, bench.projectId, { event: 'no id \ufffd' }, 'discarded', 0)).toBe(2);
    const warnings = await summarizeWarnings(db, bench.projectId, '2026-01-01');
    expect(warnings.map(({ type, count }) => [type, count])).toEqual([
      ['distinct_id_truncated', 2],
      ['missing_distinct_id', 2],
    ]);
    expect(bench.recording.rows).toHaveLength(12);
    expect(await db.selectFrom('log_cursors').selectAll().where('lane', '=', 'live').execute()).toEqual([
      { slot: 0, lane: 'live', seq: 2, pending: '[]' },
    ]);
  });
});

testReplays(async () => {
  await sql`truncate dead_letters, dead_letter_replays`.execute(db);
  return { db, [Symbol.asyncDispose]: async () => undefined };
});

testRetention(async () => {
  await sql`truncate dead_letters, dead_letter_replays, ingestion_warnings, plugin_metrics, plugin_own_metrics`.execute(
    db,
  );
  return { db, [Symbol.asyncDispose]: async () => undefined };
});
