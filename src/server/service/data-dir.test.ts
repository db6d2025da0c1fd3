import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { claimDataDir, prepareDataDir } from './start.ts';

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
