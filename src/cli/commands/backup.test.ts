import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCommandStore, type CommandStore } from '../../../test/support/command-store.ts';
import { runCommand } from '../../../test/support/command.ts';
import { takeFileLock } from '../../stores/metadata/sqlite-lock.ts';

let store: CommandStore;
let place: string;
beforeAll(async () => {
  store = await openCommandStore();
  place = mkdtempSync(join(tmpdir(), 'millrace-backup-command-'));
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  rmSync(place, { recursive: true, force: true });
});

describe('millrace backup', () => {
  it.each([
    ['of other stores', { DATABASE_URL: 'postgres://me:sec-ret@pg/db' }, /DATABASE_URL.*docs\/guides\/operations\.md/],
    ['of other stores', { CLICKHOUSE_URL: 'http://me:sec-ret@ch/db' }, /CLICKHOUSE_URL.*docs\/guides\/operations\.md/],
    ['of imports elsewhere', { MILLRACE_IMPORT_STAGING: '/elsewhere' }, /expected imports to keep their files in/],
    [
      'of nothing',
      { MILLRACE_DATA_DIR: '/nowhere' },
      /expected a data directory that Millrace has used, got \/nowhere/,
    ],
  ])('is refused %s', async (_, env, sentence) => {
    const to = join(place, 'refused');
    const { code, stderr } = await runCommand(['backup', '--to', to], {
      env: { MILLRACE_DATA_DIR: store.dataDir, ...env },
    });
    expect(stderr).toMatch(sentence);
    expect(stderr).not.toContain('sec-ret');
    expect([code, existsSync(to)]).toEqual([1, false]);
  });

  it('is refused into the data directory, next to other files, and without a place', async () => {
    expect((await store.run('backup', '--to', join(store.dataDir, 'b'))).stderr).toContain('expected a place outside');
    expect((await store.run('backup', '--to', 'ftp://here')).stderr).toContain('expected a directory or s3://');
    expect((await store.run('backup')).code).toBe(2);
    const others = join(place, 'others');
    mkdirSync(others);
    writeFileSync(join(others, 'letter.txt'), 'x');
    expect((await store.run('backup', '--to', others)).stderr).toContain('with other files (letter.txt)');
    expect(readdirSync(others)).toEqual(['letter.txt']);
  });

  it('is refused while another one is running, and leaves nothing in the directory when it ends', async () => {
    const to = join(place, 'whole');
    mkdirSync(join(store.dataDir, 'backup'), { recursive: true });
    const lock = takeFileLock(join(store.dataDir, 'backup/lock.sqlite'));
    expect((await store.run('backup', '--to', to)).stderr).toContain('without a running backup');
    lock?.[Symbol.dispose]();
    const done = await store.run('backup', '--to', to);
    expect([done.code, done.stdout]).toEqual([
      0,
      expect.stringMatching(/is complete: \d+ files?.*\n0 events of 0 projects/),
    ]);
    expect(readdirSync(join(store.dataDir, 'backup'))).toEqual(['lock.sqlite']);
    expect(readdirSync(to).toSorted()).toEqual(['files', 'manifest.json']);
    expect(existsSync(join(to, 'files/metadata.sqlite'))).toBe(true);
    const restored = await runCommand(['restore', '--from', to, '--data-dir', join(place, 'restored')]);
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining('next: millrace serve --data-dir')]);
  });
});
