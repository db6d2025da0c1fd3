import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import type { RunRef } from '../eventstore.ts';
import { insertSegment, newRun, runRow } from '../../../../test/support/run-table-rows.ts';
import { countRows, insertRows, newProject, testRow } from '../../../../test/conformance/event-store/event-store.ts';
import { linkTree } from '../../../base/link-tree.ts';
import { createEventsSnapshot } from './events-snapshot.ts';

let source: TempChdb;
let root: string;
beforeAll(async () => {
  source = await tempChdb();
  root = await mkdtemp(join(tmpdir(), 'events-snapshot-'));
});
afterAll(async () => {
  await source.close();
  await rm(root, { recursive: true, force: true });
});

async function openCopy(place: string): Promise<TempChdb & AsyncDisposable> {
  const copy = await tempChdb({}, place);
  return { ...copy, [Symbol.asyncDispose]: () => copy.close() };
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

it('a snapshot of a running engine opens with what was stored, and drops a repeated insert', async () => {
  const project = newProject();
  await insertRows(source.store, 'first', [testRow(project, { keyDay: 10_000 }), testRow(project, { keyDay: 20_000 })]);
  const place = join(root, 'at-work');
  const snapshot = createEventsSnapshot(source.dir, join(place, 'events'));
  snapshot.gather();
  const second = [testRow(project, { keyDay: 10_000 })];
  await insertRows(source.store, 'second', second);
  snapshot.fix();
  const later = [testRow(project, { keyDay: 10_000 })];
  await insertRows(source.store, 'later', later);
  snapshot.finish();
  const copy = await tempChdb({}, place);
  try {
    expect(await countRows(copy.store, project)).toEqual({ all: 3, shown: 3 });
    await insertRows(copy.store, 'second', second);
    expect(await countRows(copy.store, project)).toEqual({ all: 3, shown: 3 });
    // Later inserts are new to it.
    await insertRows(copy.store, 'later', later);
    expect(await countRows(copy.store, project)).toEqual({ all: 4, shown: 4 });
  } finally {
    await copy.close();
  }
  expect(await countRows(source.store, project)).toEqual({ all: 4, shown: 4 });
});

it('tables of runs are excluded from a snapshot, even if they are created and dropped while it is taken', async () => {
  const runs = Array.from({ length: 3 }, () => newRun());
  const [before, meanwhile, gone] = runs as [RunRef, RunRef, RunRef];
  const fill = async (run: RunRef): Promise<void> => {
    await source.store.runTables.create(run);
    for (const into of ['rows', 'facts'] as const) {
      await insertSegment(source.store, run, '0', [runRow(run, 0, { keyDay: 13_000 })], into);
    }
  };
  for (const run of [before, gone]) await fill(run);
  await source.store.runTables.attach(before, 200_508);
  const place = join(root, 'with-runs');
  const snapshot = createEventsSnapshot(source.dir, join(place, 'events'));
  snapshot.gather();
  await fill(meanwhile);
  await source.store.runTables.drop(gone);
  snapshot.fix();
  await source.store.runTables.drop(before);
  snapshot.finish();
  expect(readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes('run_'))).toEqual([]);
  const copy = await tempChdb({}, place);
  try {
    expect(await copy.store.runTables.list()).toEqual([]);
    expect(await countRows(copy.store, before.projectId)).toEqual({ all: 1, shown: 1 });
    // The run of the copy is resumed.
    await copy.store.runTables.create(meanwhile);
    await insertSegment(copy.store, meanwhile, '0', [runRow(meanwhile, 0)]);
    expect(await copy.store.runTables.partitions(meanwhile)).toMatchObject([{ rows: 1 }]);
    const parts = await copy.store.query('SELECT DISTINCT table FROM system.parts WHERE active ORDER BY table');
    expect(parts).toEqual([
      { table: 'events' },
      { table: expect.stringMatching(/^run_/) },
      { table: 'schema_version' },
    ]);
  } finally {
    await copy.close();
  }
  await source.store.runTables.drop(meanwhile);
});

/** Copies the source to a directory that no engine changes, and lists its parts of a month. */
function stillSource(name: string, month: string): { readonly dir: string; readonly parts: readonly string[] } {
  const dir = join(root, name);
  const snapshot = createEventsSnapshot(source.dir, dir);
  snapshot.fix();
  snapshot.finish();
  // Paths below `data` lead to the same parts through a symbolic link.
  const below = readdirSync(join(dir, 'store'), { recursive: true, encoding: 'utf8' });
  const isPart = (path: string): boolean => basename(path).startsWith(`${month}_`);
  return { dir, parts: below.filter(isPart).map((path) => join(dir, 'store', path)) };
}

it.each(['gather', 'fix'] as const)(
  'a part that the engine changes and removes while it is linked is in the snapshot once and complete (%s)',
  async (moment) => {
    const [project, keyDay, month] =
      moment === 'gather' ? [newProject(), 5000, '198309'] : [newProject(), 5400, '198410'];
    for (const token of ['1', '2'])
      await insertRows(source.store, `${moment}-${token}`, [testRow(project, { keyDay })]);
    const { dir, parts } = stillSource(`changing-${moment}`, month);
    const left = new Set(parts);
    expect(left.size).toBeGreaterThan(0);
    const place = join(root, `changed-${moment}`);
    const snapshot = createEventsSnapshot(dir, join(place, 'events'), (from, to) => {
      if (!left.delete(from)) return linkTree(from, to);
      linkTree(from, `${from}_99`);
      const [file = ''] = readdirSync(from);
      mkdirSync(to, { recursive: true });
      linkSync(join(from, file), join(to, file));
      rmSync(from, { recursive: true });
      return false;
    });
    if (moment === 'gather') snapshot.gather();
    snapshot.fix();
    snapshot.finish();
    expect(left.size).toBe(0);
    await using copy = await openCopy(place);
    expect(await copy.store.health()).toEqual({ ok: true, detail: '' });
    expect(await countRows(copy.store, project)).toEqual({ all: 2, shown: 2 });
  },
);

it('a part that got its name while the directory was listed is in the snapshot', async () => {
  const project = newProject();
  await insertRows(source.store, 'missed', [testRow(project, { keyDay: 6000 }), testRow(project, { keyDay: 6100 })]);
  const { dir, parts } = stillSource('naming', '198606');
  const [part = ''] = parts;
  const hidden = join(dirname(part), `tmp_merge_${basename(part)}`);
  renameSync(part, hidden);
  const place = join(root, 'named');
  const snapshot = createEventsSnapshot(dir, join(place, 'events'), (from, to) => {
    if (dirname(from) === dirname(part) && existsSync(hidden)) renameSync(hidden, part);
    return linkTree(from, to);
  });
  snapshot.fix();
  snapshot.finish();
  await using copy = await openCopy(place);
  expect(await countRows(copy.store, project)).toEqual({ all: 2, shown: 2 });
});

it('a delete that changes one part after another does not delay a snapshot', async () => {
  const project = newProject();
  await insertRows(source.store, 'changing', [testRow(project, { keyDay: 7000 })]);
  const { dir, parts } = stillSource('deleting', '198903');
  const [part = ''] = parts;
  const place = join(root, 'deleted');
  let mutation = 100;
  const snapshot = createEventsSnapshot(dir, join(place, 'events'), (from, to) => {
    // A delete of other rows does this.
    if (from.startsWith(part)) linkTree(from, `${part}_${(mutation += 1)}`);
    return linkTree(from, to);
  });
  snapshot.fix();
  snapshot.finish();
  await using copy = await openCopy(place);
  expect(await copy.store.health()).toEqual({ ok: true, detail: '' });
  expect(await countRows(copy.store, project)).toEqual({ all: 1, shown: 1 });
});

it('a snapshot without the rows of an insert does not contain its token', async () => {
  const project = newProject();
  await insertRows(source.store, 'in', [testRow(project, { keyDay: 11_000 })]);
  const rows = [testRow(project, { keyDay: 12_000 })];
  await insertRows(source.store, 'out', rows);
  // The moment when the engine has written the token but not named the part.
  const torn = join(root, 'torn-source');
  const snapshotOfAll = createEventsSnapshot(source.dir, torn);
  snapshotOfAll.fix();
  const part = readdirSync(torn, { recursive: true, encoding: 'utf8' }).find((path) =>
    /\/200211_\d+_\d+_0$/.test(path),
  );
  await rm(join(torn, part ?? ''), { recursive: true });
  const place = join(root, 'torn');
  const snapshot = createEventsSnapshot(torn, join(place, 'events'));
  snapshot.fix();
  snapshot.finish();
  const copy = await tempChdb({}, place);
  try {
    expect(await countRows(copy.store, project)).toEqual({ all: 1, shown: 1 });
    await insertRows(copy.store, 'out', rows);
    expect(await countRows(copy.store, project)).toEqual({ all: 2, shown: 2 });
  } finally {
    await copy.close();
  }
});

it('parts are linked, and files that the engine keeps writing are copied', async () => {
  const project = newProject();
  for (const token of ['m1', 'm2', 'm3']) {
    await insertRows(source.store, token, [testRow(project, { keyDay: 15_000 })]);
  }
  const place = join(root, 'linked');
  const first = createEventsSnapshot(source.dir, place);
  first.fix();
  first.finish();
  const data = filesBelow(place).filter((file) => file.endsWith('data.bin'));
  expect(data.length).toBeGreaterThan(2);
  expect(data.every((file) => statSync(file).nlink > 1)).toBe(true);
  expect(existsSync(join(place, 'status'))).toBe(false);
  const logs = filesBelow(place).filter((file) => file.includes('deduplication_log_'));
  expect(logs.length).toBeGreaterThan(0);
  // The engine keeps writing its own file.
  expect(logs.every((file) => statSync(file).nlink === 1 && readFileSync(file, 'utf8').includes('\t'))).toBe(true);
});
