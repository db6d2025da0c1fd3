import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Finished } from '../../../test/support/command.ts';
import { openCommandStore, type CommandStore } from '../../../test/support/command-store.ts';
import { isoMicros } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { claimDataDir, saveAddress } from '../../server/service/data-dir.ts';
import { createSession, useLoginLink } from '../../stores/metadata/sessions.ts';
import { listUsers } from '../../stores/metadata/users.ts';
import { exitCodes } from '../exit-codes.ts';

let store: CommandStore;
let db: Metadata;

beforeEach(async () => {
  store = await openCommandStore();
  ({ db } = store);
});
afterEach(() => store[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Finished> => store.run(...args);

/** Returns the user that a printed link signs in. */
async function signedInBy(stdout: string): Promise<number | undefined> {
  const token = new URL(stdout.trim()).searchParams.get('token') ?? '';
  return (await useLoginLink(db, token, Date.now()))?.userId;
}

describe('login, on the data directory while another process has it open', () => {
  it('prints a link that signs in the first admin, once', async () => {
    const { code, stdout, stderr } = await run('login');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:8000\/login\?token=[\w-]{43}\n$/);
    expect(stderr).toContain('Admin (admin); works once, until 2');
    expect(await signedInBy(stdout)).toBe(1);
    expect(await signedInBy(stdout)).toBeUndefined();
  });

  it('builds the link from the address of the service, for the named user', async () => {
    await run('users', 'add', 'Eve@example.com');
    const { stdout } = await run('login', 'eve@EXAMPLE.com', '--site-url', 'https://events.example.com/', '--json');
    const { sign_in_url: url, ...who } = JSON.parse(stdout);
    expect(who).toEqual({ user_id: 2, email: 'Eve@example.com', role: 'viewer' });
    expect(url).toMatch(/^https:\/\/events\.example\.com\/login\?token=/);
    expect(await signedInBy(url)).toBe(2);
    expect((await run('login', 'absent@example.com')).code).toBe(exitCodes.notFound.code);
  });

  it.each<[given: string, env: Record<string, string>, args: string[], address: string]>([
    ['MILLRACE_URL, as the start prints it', { MILLRACE_URL: 'http://127.0.0.1:8100' }, [], 'http://127.0.0.1:8100'],
    ['--port', { MILLRACE_URL: 'http://127.0.0.1:8100' }, ['--port', '8200'], 'http://127.0.0.1:8200'],
    ['MILLRACE_PORT', { MILLRACE_URL: 'http://other.example', MILLRACE_PORT: '8300' }, [], 'http://127.0.0.1:8300'],
    ['--site-url', { MILLRACE_URL: 'http://127.0.0.1:8100' }, ['--site-url', 'https://e.example'], 'https://e.example'],
  ])('the link leads to where the service is: %s', async (_given, env, args, address) => {
    const { stdout } = await store.runWith(env, 'login', ...args);
    expect(new URL(stdout.trim()).origin).toBe(address);
  });

  it('the link leads to the service that uses the directory, and a note says when none is running', async () => {
    saveAddress(store.dataDir, 'http://127.0.0.1:8100');
    const stopped = await run('login');
    expect(new URL(stopped.stdout.trim()).origin).toBe('http://127.0.0.1:8100');
    expect(stopped.stderr).toContain('start it with "millrace serve" before you open the link');
    using _service = claimDataDir(store.dataDir);
    expect((await run('login')).stderr).not.toContain('millrace serve');
  });

  it('creates none for a deactivated user', async () => {
    await run('users', 'add', 'eve@example.com');
    await db
      .updateTable('users')
      .set({ deactivated_at: isoMicros(Date.now()) })
      .where('id', '=', 2)
      .execute();
    const { code, stdout, stderr } = await run('login', '2');
    expect([code, stdout]).toEqual([exitCodes.failed.code, '']);
    expect(stderr).toContain('millrace users role 2 viewer');
    expect((await run('users', 'role', '2', 'viewer')).code).toBe(0);
    expect((await run('login', '2')).code).toBe(0);
  });
});

describe('users', () => {
  it('are added with a role and a sign-in link, listed, and given another role', async () => {
    const added = await run('users', 'add', 'bob@example.com', '--name', 'Bob', '--role', 'editor');
    expect([added.code, added.stderr]).toEqual([0, expect.stringContaining('works once, until 2')]);
    expect(await signedInBy(added.stdout)).toBe(2);
    const { stdout } = await run('users', 'list', '--output', 'json');
    expect(JSON.parse(stdout)).toMatchObject([
      { id: 1, role: 'admin', is_active: true },
      { id: 2, first_name: 'Bob', email: 'bob@example.com', role: 'editor', is_active: true },
    ]);
    expect((await run('users', 'role', 'bob@example.com', 'admin')).stderr).toContain('bob@example.com is admin');
    expect((await run('users', 'list')).stdout).toMatch(/bob@example\.com +admin +active/);
    const log = await db
      .selectFrom('activity_log')
      .select(['activity', 'is_system', 'item_id'])
      .orderBy('id')
      .execute();
    expect(log.map(({ activity, is_system, item_id }) => [activity, is_system, item_id])).toEqual([
      ['created', 1, '2'],
      ['role_changed', 1, '2'],
    ]);
  });

  it('are removed with their sessions; the last admin is not', async () => {
    await run('users', 'add', 'bob@example.com');
    await createSession(db, { userId: 2, now: Date.now() });
    expect((await run('users', 'remove', '2', '--yes')).code).toBe(0);
    expect(await db.selectFrom('sessions').select('id').execute()).toEqual([]);
    const last = await run('users', 'remove', '1', '--yes');
    expect([last.code, last.stderr]).toEqual([exitCodes.failed.code, expect.stringContaining('last admin')]);
    expect((await run('users', 'role', '1', 'viewer')).code).toBe(exitCodes.failed.code);
    expect(await listUsers(db)).toMatchObject([{ id: 1, role: 'admin' }]);
    const log = await db.selectFrom('activity_log').select('activity').orderBy('id').execute();
    expect(log.map(({ activity }) => activity)).toEqual(['created', 'deleted']);
  });

  it.each([
    [['add', 'no-address'], 'usage'],
    [['add', 'b@c', '--role', 'owner'], 'usage'],
    [['role', '1', 'owner'], 'usage'],
    [['role', '9', 'viewer'], 'notFound'],
    [['remove', 'x@y', '--yes'], 'notFound'],
  ] as const)('%o is refused: %s', async (args, code) => {
    expect((await run('users', ...args)).code).toBe(exitCodes[code].code);
  });

  it('an address is taken once', async () => {
    await run('users', 'add', 'bob@example.com');
    const twin = await run('users', 'add', 'BOB@example.com');
    expect([twin.code, twin.stdout, twin.stderr]).toEqual([
      exitCodes.failed.code,
      '',
      expect.stringContaining('already'),
    ]);
    expect(await listUsers(db)).toHaveLength(2);
  });
});
