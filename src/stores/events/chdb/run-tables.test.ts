import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { runThroughKills, type Kill } from '../../../../test/support/run-table-kills.ts';
import { statementsOf } from '../../../../test/support/run-table-pass.ts';
import { countsOf, expectedCounts, insertSegment, runRow } from '../../../../test/support/run-table-rows.ts';
import { newProject } from '../../../../test/conformance/event-store/event-store.ts';
import { runTablesConformance } from '../../../../test/conformance/event-store/run-tables.ts';

runTablesConformance('chDB', () => tempChdb());

it('attaching copies no file, and the engine does not treat the parts as merged', async () => {
  const chdb = await tempChdb();
  const run = { projectId: newProject(), runId: randomUUID() };
  await chdb.store.runTables.create(run);
  for (const segment of [0, 1]) await insertSegment(chdb.store, run, `${segment}`, [runRow(run, segment)]);
  const partsSql = "SELECT path, toUInt32(level) AS level FROM system.parts WHERE table LIKE 'run%' AND active";
  const parts = await chdb.store.query<{ path: string; level: number }>(partsSql);
  await chdb.store.runTables.attach(run, 202_403);
  for (const { path, level } of parts) {
    const { nlink } = await stat(join(path, 'data.bin'));
    expect([nlink, level]).toEqual([2, 0]);
  }
  expect(parts).toHaveLength(2);
  await chdb.close();
});

/** Returns segments over three months with repeated identities. */
function segmentsOf(run: { readonly projectId: number; readonly runId: string }, rows: number) {
  return [0, 1].map((segment) =>
    Array.from({ length: rows }, (_, n) =>
      runRow(run, segment * rows + n, { keyDay: 19_783 + (n % 3) * 31, distinctId: `user-${n % 50}` }),
    ),
  );
}

describe('kill -9 of the embedded engine while a run uses its table', () => {
  let chdb: TempChdb;
  beforeAll(async () => {
    chdb = await tempChdb({ restartMsMax: 200 });
  });
  afterAll(async () => await chdb.close());

  it('between any two statements, each row is in the table once and in events once', async () => {
    const run = { projectId: newProject(), runId: randomUUID() };
    const passing = { run, segments: segmentsOf(run, 200) };
    const kills = Array.from({ length: statementsOf(passing, 3) + 1 }, (_, at): Kill => ({ beforeStatement: at }));
    expect(await runThroughKills(chdb, passing, kills)).toBe(kills.length);
  });

  it('during inserts, attaching and dropping, each row is in the table once and in events once', async () => {
    const run = { projectId: newProject(), runId: randomUUID() };
    const kills = [20, 100, 250, 500].map((afterMs): Kill => ({ afterMs }));
    expect(await runThroughKills(chdb, { run, segments: segmentsOf(run, 4000) }, kills)).toBeGreaterThan(0);
  });
});

it('a segment killed between its token and its part is stored when it is inserted again', async () => {
  const root = await mkdtemp(join(tmpdir(), 'run-tables-'));
  const run = { projectId: newProject(), runId: randomUUID() };
  const rows = [10_000, 20_000].map((keyDay, n) => runRow(run, n, { keyDay }));
  const first = await tempChdb({}, root);
  await first.store.runTables.create(run);
  await insertSegment(first.store, run, '0', rows);
  const sql = "SELECT path FROM system.parts WHERE table LIKE 'run%' AND active ORDER BY min_block_number DESC LIMIT 1";
  const [part] = await first.store.query<{ path: string }>(sql);
  await first.close();
  // The state after the kill: the token is recorded, but the part never got its name.
  await rm(part?.path ?? '', { recursive: true });
  const second = await tempChdb({}, root);
  expect(await countsOf(second.store, run, 'rows')).toHaveLength(1);
  await insertSegment(second.store, run, '0', rows);
  expect(await countsOf(second.store, run, 'rows')).toEqual(expectedCounts(run, rows));
  await second.close();
  await rm(root, { recursive: true, force: true });
});
