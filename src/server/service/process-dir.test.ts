import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isoMicros } from '../../base/clock.ts';
import { createLog } from '../telemetry/log.ts';
import { openProcessDir, type ProcessDir } from './process-dir.ts';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';

let store: TempMetadata;
let parent: string;
beforeEach(async () => {
  store = await tempMetadata();
  parent = await mkdtemp(join(tmpdir(), 'millrace-process-dir-'));
});
afterEach(async () => {
  await rm(parent, { recursive: true, force: true });
  await store[Symbol.asyncDispose]();
});

async function open(isAlone = false): Promise<ProcessDir> {
  const dir = await openProcessDir({ db: store.db, log: createLog('silent'), parent, isAlone });
  await writeFile(join(dir.path, 'file'), 'x');
  return dir;
}

it('each process has a separate directory, which others do not touch and which is removed with the process', async () => {
  const first = await open();
  const second = await open();
  await second.removeDead();
  expect((await readdir(parent)).toSorted()).toEqual(
    [first, second].map(({ path }) => path.slice(parent.length + 1)).toSorted(),
  );
  await first.close();
  expect([existsSync(first.path), existsSync(second.path)]).toEqual([false, true]);
  await second.close();
  expect(await readdir(parent)).toEqual([]);
  expect(await store.db.selectFrom('named_leases').selectAll().execute()).toEqual([]);
});

it('the files of a dead process are removed once its lease has expired, not before', async () => {
  const died = await open();
  const other = await open();
  await other.removeDead();
  expect(existsSync(died.path)).toBe(true);
  await store.db
    .updateTable('named_leases')
    .set({ lease_until: isoMicros(0) })
    .where('name', 'like', `%${died.path.slice(parent.length + 1)}`)
    .execute();
  await other.removeDead();
  expect([existsSync(died.path), existsSync(other.path)]).toEqual([false, true]);
  await died.close();
  await other.close();
});

it('a process that is alone removes everything in the directory at its start', async () => {
  await mkdir(join(parent, 'of-an-older-program'));
  const died = await open();
  const next = await open(true);
  expect(await readdir(parent)).toEqual([next.path.slice(parent.length + 1)]);
  await next.close();
  await died.close();
});
