import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { currentUserRoutes } from '../../server/api/current-user.ts';
import { personalApiKeyRoutes } from '../../server/api/personal-api-keys.ts';
import { projectRoutes } from '../../server/api/projects.ts';
import { userRoutes } from '../../server/api/users.ts';
import { useLoginLink } from '../../stores/metadata/sessions.ts';
import { exitCodes } from '../exit-codes.ts';

let app: TestApp;
let service: string[];
beforeEach(async () => {
  app = await startTestApp((db, { auth: { forgetUser, forgetKey, forgetProject }, clock }) => [
    ...currentUserRoutes({ db }),
    ...userRoutes({ db, clock, forgetUser }),
    ...personalApiKeyRoutes({ db, clock, forgetKey }),
    ...projectRoutes({ db, clock, forgetProject }),
  ]);
  await app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.app.server.address() as AddressInfo;
  service = ['--url', `http://127.0.0.1:${port}`, '--api-key', await app.key()];
});
afterEach(() => app[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Finished> => runCommand([...args, ...service]);

it('users of a running service are invited, listed, given a role and removed with an admin key', async () => {
  const invited = await run('users', 'invite', 'bob@example.com', '--role', 'editor');
  expect([invited.code, invited.stderr]).toEqual([
    0,
    expect.stringContaining('signs in bob@example.com (editor); works once, until'),
  ]);
  const token = new URL(invited.stdout.trim()).searchParams.get('token') ?? '';
  const users = JSON.parse((await run('users', 'list', '--output', 'json')).stdout) as { id: number; email: string }[];
  const bob = users.find(({ email }) => email === 'bob@example.com')?.id;
  expect(await useLoginLink(app.db, token, app.clock.now())).toMatchObject({ userId: bob });
  expect((await run('users', 'role', 'BOB@example.com', 'viewer')).stderr).toContain('bob@example.com is viewer');
  expect((await run('users', 'list')).stdout).toMatch(/bob@example\.com +viewer +active/);
  expect((await run('users', 'remove', 'bob@example.com', '--yes')).code).toBe(0);
  expect((await run('users', 'list')).stdout).not.toContain('bob@');
});

it('keys of a running service are created, listed, rolled and deleted, projects created and deleted', async () => {
  const ids = (table: string): string[] => table.split('\n').map((row) => row.split(' ')[0] ?? '');
  const project = JSON.parse((await run('projects', 'create', 'Shop', '--json')).stdout) as { id: number };
  expect(ids((await run('projects', 'list')).stdout)).toContain(String(project.id));
  const made = await run('keys', 'create', 'ci', '--scope', 'plugin:read', '--project', String(project.id), '--json');
  const key = JSON.parse(made.stdout) as { id: string; value: string };
  expect(key).toMatchObject({ label: 'ci', scopes: ['plugin:read'], scoped_teams: [project.id] });
  expect((await run('keys', 'roll', key.id, '--yes')).stdout).not.toContain(key.value);
  expect(ids((await run('keys', 'list')).stdout)).toContain(key.id);
  expect((await run('keys', 'delete', key.id, '--yes')).code).toBe(0);
  expect((await run('projects', 'delete', String(project.id), '--yes')).code).toBe(0);
  expect((await run('keys', 'create', '--project', String(project.id))).stderr).toContain('--project: no project');
});

it('keys create uses address and key of a profile, and is not limited to its project', async () => {
  const [, url = '', , apiKey = ''] = service;
  const dir = await mkdtemp(join(tmpdir(), 'millrace-profile-'));
  const env = { XDG_CONFIG_HOME: dir };
  const project = ['--project', String(app.project.id)];
  await runCommand(['profiles', 'add', 'there', '--url', url, '--api-key', apiKey, ...project], { env });
  const { stdout, stderr } = await runCommand(['keys', 'create', 'ci', '--json', '--profile', 'there'], { env });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({ label: 'ci', scoped_teams: null });
  await rm(dir, { recursive: true });
});

it('login creates a link for the owner of the key, or for the named user', async () => {
  const own = await run('login');
  expect([own.code, own.stderr]).toEqual([0, expect.stringContaining('signs in ada@example.com (admin)')]);
  const { id } = await app.userOf('viewer');
  const { sign_in_url: url, user_id: user } = JSON.parse((await run('login', 'viewer@example.com', '--json')).stdout);
  expect(user).toBe(id);
  const token = new URL(url).searchParams.get('token') ?? '';
  expect(await useLoginLink(app.db, token, app.clock.now())).toMatchObject({ userId: id });
});

it.each([
  [['users', 'role', 'absent@example.com', 'viewer'], 'notFound', /no user absent@example\.com/],
  [['users', 'remove', 'ada@example.com', '--yes'], 'failed', /last admin/i],
  [['users', 'add', 'ada@example.com'], 'failed', /already/],
  [['login', '99'], 'notFound', /no user 99/],
] as const)('millrace %o is refused: %s', async (args, reason, sentence) => {
  const { code, stderr } = await run(...args);
  expect(stderr).toMatch(sentence);
  expect(code).toBe(exitCodes[reason].code);
});
