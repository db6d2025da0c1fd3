import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { claimDataDir, diskFreeBytesMin, diskHealth, prepareDataDir } from './data-dir.ts';

const parent = mkdtempSync(join(tmpdir(), 'millrace-data-dir-'));
afterAll(() => rmSync(parent, { recursive: true }));

let warnings: string[] = [];
const log = { warn: (_about: object, message: string) => void warnings.push(message) };
beforeEach(() => {
  warnings = [];
});

const modeOf = (dir: string): number => statSync(dir).mode & 0o7777;

it('creates the data directory for this user only', () => {
  const dir = join(parent, 'a', 'b');
  prepareDataDir(dir, log);
  expect([modeOf(dir), warnings]).toEqual([0o700, []]);
});

it('restricts a data directory that other users can read, and does not change a restricted one', () => {
  const dir = join(parent, 'open');
  mkdirSync(dir);
  for (const [before, after] of [
    [0o755, 0o700],
    [0o777, 0o700],
    [0o500, 0o500],
  ] as const) {
    chmodSync(dir, before);
    prepareDataDir(dir, log);
    expect(modeOf(dir)).toBe(after);
  }
  expect(warnings).toEqual([]);
});

it('does not change a directory with the sticky bit, and warns', () => {
  const dir = join(parent, 'shared');
  mkdirSync(dir);
  chmodSync(dir, 0o1777);
  prepareDataDir(dir, log);
  expect(modeOf(dir)).toBe(0o1777);
  expect(warnings).toEqual([expect.stringContaining('use one with mode 0700')]);
});

it('is used by one process at a time: a second one is refused immediately, before anything in it is opened', () => {
  const dir = join(parent, 'taken');
  mkdirSync(dir);
  const claim = claimDataDir(dir);
  expect(() => claimDataDir(dir)).toThrow(`${dir} is in use by another process: stop that one`);
  claim[Symbol.dispose]();
  claimDataDir(dir)[Symbol.dispose]();
});

const disks = (free: Readonly<Record<string, number>>) => async (path: string) => {
  const bavail = free[path];
  if (bavail === undefined) throw Object.assign(new Error('not there'), { code: 'ENOENT' });
  return { bavail, bsize: 1 };
};

it.each([
  ['the data directory', { '/data': diskFreeBytesMin - 1 }, '/data ('],
  ['the log', { '/data': 1e12, '/data/log': 0 }, '/data/log (0 KiB free)'],
  ['the event store', { '/data': 1e12, '/data/log': 1e12, '/data/events': 5000 }, '/data/events (4 KiB free)'],
])('reports a full disk under %s', async (_what, free, named) => {
  expect(await diskHealth('/data', disks(free))).toEqual({
    ok: false,
    detail: expect.stringContaining(named) as unknown,
  });
});

it('a disk with enough space is healthy, and so is a missing directory of a store', async () => {
  expect(await diskHealth('/data', disks({ '/data': diskFreeBytesMin }))).toEqual({ ok: true });
});
