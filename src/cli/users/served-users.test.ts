import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { currentUserRoutes } from '../../server/api/current-user.ts';
import { userRoutes } from '../../server/api/users.ts';
import { useLoginLink } from '../../stores/metadata/sessions.ts';
import { exitCodes } from '../exit-codes.ts';

let app: TestApp;
let service: string[];
beforeEach(async () => {
  app = await startTestApp((db, { auth: { forgetUser }, clock }) => [
    ...currentUserRoutes({ db }),
    ...userRoutes({ db, clock, forgetUser }),
  ]);
  await app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.app.server.address() as AddressInfo;
  service = ['--url', `http://127.0.0.1:${port}`, '--api-key', await app.key()];
});
afterEach(() => app[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Finished> => runCommand([...args, ...service]);

it('users of a service elsewhere are invited, listed, given a role and removed with an admin key', async () => {
  const invited = await run('users', 'invite', 'bob@example.com', '--role', 'editor');
  expect([invited.code, invited.stderr]).toEqual([
    0,
    expect.stringContaining('signs in bob@example.com (editor); works once, until'),
  ]);
  const token = new URL(invited.stdout.trim()).searchParams.get('token') ?? '';
  const users = JSON.parse((await run('users', 'list', '--output', 'json')).stdout) as { id: number; email: string }[];
  const bob = users.find(({ email }) => email === 'bob@example.com')?.id;
  expect(await useLoginLink(app.db, token, app.clock.now())).toBe(bob);
  expect((await run('users', 'role', 'BOB@example.com', 'viewer')).stderr).toContain('bob@example.com is viewer');
  expect((await run('users', 'list')).stdout).toMatch(/bob@example\.com +viewer +active/);
  expect((await run('users', 'remove', 'bob@example.com', '--yes')).code).toBe(0);
  expect((await run('users', 'list')).stdout).not.toContain('bob@');
});

it('login makes a link for whose key it is, or for the user that is named', async () => {
  const own = await run('login');
  expect([own.code, own.stderr]).toEqual([0, expect.stringContaining('signs in ada@example.com (admin)')]);
  const { id } = await app.userOf('viewer');
  const { sign_in_url: url, user_id: user } = JSON.parse((await run('login', 'viewer@example.com', '--json')).stdout);
  expect(user).toBe(id);
  expect(await useLoginLink(app.db, new URL(url).searchParams.get('token') ?? '', app.clock.now())).toBe(id);
});

it.each([
  [['users', 'role', 'nobody@example.com', 'viewer'], 'notFound', /no user nobody@example\.com/],
  [['users', 'remove', 'ada@example.com', '--yes'], 'failed', /last admin/i],
  [['users', 'add', 'ada@example.com'], 'failed', /already/],
  [['login', '99'], 'notFound', /no user 99/],
] as const)('millrace %o is refused: %s', async (args, reason, sentence) => {
  const { code, stderr } = await run(...args);
  expect(stderr).toMatch(sentence);
  expect(code).toBe(exitCodes[reason].code);
});
