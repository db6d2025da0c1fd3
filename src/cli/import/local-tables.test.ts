import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { alive } from '../../../test/support/chdb.ts';
import { hasProc, storePid } from '../../../test/support/processes.ts';
import { countsOf, expectedCounts, insertSegment, newRun, runRow } from '../../../test/support/run-table-rows.ts';
import { RunFailedError } from '../../imports/run/leased-run.ts';
import { localTables } from './local-tables.ts';

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'local-tables-'));
});
afterEach(() => rm(path, { recursive: true, force: true }));

it('nothing is started or created in the directory of an import before its tables are used', async () => {
  const tables = localTables({ path });
  await tables.close();
  expect(await readdir(path)).toEqual([]);
});

it('all callers share one engine, and its data is there when the import is resumed', async () => {
  const run = newRun();
  const rows = [runRow(run, 0)];
  const first = localTables({ path });
  const stores = await Promise.all([first.open(), first.open(), first.open()]);
  expect(new Set(stores).size).toBe(1);
  await stores[0].runTables.create(run);
  await insertSegment(stores[0], run, '0', rows);
  await first.close();
  const second = localTables({ path });
  expect(await countsOf(await second.open(), run, 'rows')).toEqual(expectedCounts(run, rows));
  await second.close();
});

it('an engine that is closed while it starts ends', async () => {
  const tables = localTables({ path });
  const opening = tables.open();
  await tables.close();
  await expect((await opening).query('SELECT 1')).rejects.toThrow('The event store is closed.');
  // Another one could not open the same directory.
  const again = localTables({ path });
  await (await again.open()).query('SELECT 1');
  await again.close();
});

it('a store that cannot be opened fails the run, and is opened once that is repaired', async () => {
  const wrong = join(path, 'a*b');
  const tables = localTables({ path: wrong });
  await expect(tables.open()).rejects.toThrow(RunFailedError);
  await expect(tables.open()).rejects.toThrow('without the characters * ? { }');
  await tables.close();
});

it.skipIf(!hasProc)('the engine ends with the command, also when it is killed', async () => {
  const holder = fork(fileURLToPath(new URL('./local-tables.fixture.ts', import.meta.url)), [path]);
  await once(holder, 'message');
  const engine = storePid({ child: holder }) ?? 0;
  expect(alive(engine)).toBe(true);
  holder.kill('SIGKILL');
  await expect.poll(() => alive(engine)).toBe(false);
});
