import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../../test/support/command.ts';
import { lockDirectory } from '../../log/sqlite/lock.ts';
import { migrate } from '../../stores/metadata/migrate.ts';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import { writeMoveState } from '../../stores/move/move-state.ts';

let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'millrace-move-command-'));
  const db = openSqlite(join(dir, 'metadata.sqlite'));
  await migrate(db, 'sqlite');
  await db.destroy();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const target = [
  '--to-database-url',
  'postgres://me:sec-ret@127.0.0.1:1/db',
  '--to-clickhouse-url',
  'http://me:sec-ret@127.0.0.1:1/db',
];

describe('millrace move', () => {
  it.each([
    ['without a target', [], {}, 2, /expected --to <file> or --to-database-url and --to-clickhouse-url, got neither/],
    ['to half a target', target.slice(0, 2), {}, 1, /got no clickhouse_url \(--to-clickhouse-url\)/],
    ['an unused directory', [...target, '--data-dir', '/nowhere'], {}, 1, /that Millrace has used, got/],
    [
      'beside other stores',
      target,
      { CLICKHOUSE_URL: 'http://ch/db' },
      1,
      /expected a data directory with everything in it/,
    ],
  ])('is refused %s', async (_, args, env, code, message) => {
    const finished = await runCommand(['move', '--data-dir', dir, ...args], { env });
    expect(finished.stderr).toMatch(message);
    expect(finished.stderr).not.toContain('sec-ret');
    expect(finished.code).toBe(code);
  });

  it('is refused with advice while a service uses the directory', async () => {
    mkdirSync(join(dir, 'log'), { recursive: true });
    const release = lockDirectory(join(dir, 'log'));
    const { code, stderr } = await runCommand(['move', '--data-dir', dir, ...target]);
    release();
    expect(stderr).toMatch(/expected a data directory that no service uses.*stop it \(SIGTERM\) and run this again/);
    expect(code).toBe(1);
  });

  it('reads the stores from a file, and reports that they are unreachable without repeating a password', async () => {
    const file = join(dir, 'cluster.json');
    writeFileSync(file, JSON.stringify({ database_url: target[1], clickhouse_url: target[3] }));
    const { code, stderr } = await runCommand(['move', '--data-dir', dir, '--to', file]);
    expect(stderr).toMatch(/ECONNREFUSED/);
    expect(stderr).not.toContain('sec-ret');
    expect(code).not.toBe(0);
  });

  it('no service starts on a directory that is being moved or was moved', async () => {
    const state = { id: 'm', started_at: '', target: 't', tables: {}, months: {}, current: null };
    for (const [stage, sentence] of [
      ['copying', /got one that is being moved; run the same "millrace move" again/],
      ['done', /got one that was moved to other stores/],
    ] as const) {
      writeMoveState(dir, { ...state, stage });
      const { code, stderr } = await runCommand(['serve', '--data-dir', dir, '--port', '0']);
      expect(stderr).toMatch(sentence);
      expect(code).not.toBe(0);
    }
    rmSync(join(dir, 'move.json'));
  });
});
