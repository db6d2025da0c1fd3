import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';
import { makeTgz, makeZip, members } from '../../../test/support/archives.ts';
import { testSandbox } from '../../../test/support/describe-plugin.ts';
import { startPackageServer, type PackageServer } from '../../../test/support/package-server.ts';
import { exitCodes } from '../exit-codes.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';

let folder: string;
let server: PackageServer;
let configs: ConfigsApp;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-plugins-'));
  server = await startPackageServer();
  configs = await startConfigsApp({ packages: { ...server, sandbox: testSandbox } });
  await configs.app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = configs.app.app.server.address() as AddressInfo;
  env = { MILLRACE_URL: `http://127.0.0.1:${port}`, MILLRACE_API_KEY: await configs.app.key() };
});
afterAll(async () => {
  await configs[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const run = (...args: readonly string[]): Promise<Finished> => runCommand(['plugins', ...args], { env });
const done = async (...args: readonly string[]): Promise<Finished> => {
  const finished = await run(...args);
  if (finished.code !== 0) throw new Error(`plugins ${args.join(' ')} ended with ${finished.code}: ${finished.stderr}`);
  return finished;
};
const filesOf = (name: string, version: string) => ({
  'plugin.json': JSON.stringify({ name }),
  'package.json': JSON.stringify({ version }),
  'index.js': `exports.processEvent = (event) => event // ${version}`,
});
const tarball = (name: string, version: string) =>
  makeTgz(
    members(
      Object.fromEntries(Object.entries(filesOf(name, version)).map(([path, text]) => [`package/${path}`, text])),
    ),
  );

async function writeFolder(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, 'node_modules/x'), { recursive: true });
  await writeFile(join(path, 'node_modules/x/index.js'), 'not part of it');
  await writeFile(join(path, 'logo.png'), Uint8Array.of(137, 0, 255));
  await symlink('/etc/passwd', join(path, 'link.txt')).catch(() => undefined);
  for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text);
  return path;
}

describe('millrace plugins', () => {
  it('installs from a folder without unrelated files, shows it, and removes it', async () => {
    const path = await writeFolder('mine', filesOf('My Folder', '1.0.0'));
    const { stdout } = await done('install', path, '--json');
    const plugin = JSON.parse(stdout) as { id: number; slug: string; source_kind: string };
    expect(plugin).toMatchObject({ slug: 'my-folder', source_kind: 'source' });
    const { body } = await configs.get(`/plugins/${plugin.id}/versions/1.0.0/source/`);
    expect(Object.keys(body['files'] as object)).toEqual(['index.js', 'package.json', 'plugin.json']);
    expect((await done('show', 'my-folder')).stdout).toMatch(/VERSION +LATEST[^]*1\.0\.0 +yes +0 /);
    expect((await done('list', '--search', 'folder')).stdout.trim().split('\n')).toHaveLength(2);
    const asked = await run('remove', 'my-folder');
    expect([asked.code, asked.stderr]).toEqual([exitCodes.usage.code, expect.stringContaining('Add --yes')]);
    expect((await done('remove', 'my-folder', '--yes')).stderr).toContain('removed my-folder');
    expect((await run('show', 'my-folder')).code).toBe(exitCodes.notFound.code);
  });

  it.each([
    ['one.js', 'export function processEvent(event) { return event }'],
    ['two.ts', 'export const processEvent = (event: object): object => event'],
    ['three.cjs', 'exports.processEvent = (event) => event'],
  ])('installs %s, a single file, under its name', async (file, text) => {
    const path = join(folder, file);
    await writeFile(path, text);
    const name = file.slice(0, file.indexOf('.'));
    const plugin = JSON.parse((await done('install', path, '--json')).stdout) as Record<
      'id' | 'version' | 'slug',
      string
    >;
    expect(plugin).toMatchObject({ slug: name, kind: 'transformation' });
    const { body } = await configs.get(`/plugins/${plugin.id}/versions/${plugin.version}/source/`);
    expect(Object.keys(body['files'] as object).sort()).toEqual([file, 'plugin.json'].sort());
    await writeFile(path, `${text} // newer`);
    expect((await done('upgrade', name, path)).code).toBe(0);
  });

  it('uploads archives, and upgrades from a named source', async () => {
    const path = join(folder, 'plugin.zip');
    await writeFile(path, makeZip(members(filesOf('Zipped', '1.0.0'))));
    expect((await done('install', path, '--name', 'Zip It')).stdout).toMatch(
      /zip-it +Zip It +transformation +1\.0\.0 +archive/,
    );
    const without = await run('upgrade', 'zip-it');
    expect(without.code).toBe(exitCodes.usage.code);
    expect(without.stderr).toContain('name the source of the new version');
    await writeFile(path, makeZip(members(filesOf('Zipped', '1.1.0'))));
    expect((await done('upgrade', 'zip-it', path)).stdout).toContain('1.1.0');
    const several = await run('upgrade', 'zip-it', path, '--to', '1.2.0');
    expect(several.stderr).toContain('only npm packages have several');
  });

  it('a second install of the same name prints the command to upgrade, which works', async () => {
    const path = await writeFolder('plan-tier', filesOf('Plan tier', '1.0.0'));
    await done('install', path);
    const newer = await writeFolder('plan-tier-newer', filesOf('Plan tier', '2.0.0'));
    const refused = await run('install', newer);
    expect(refused.code).toBe(exitCodes.failed.code);
    const [, id = ''] = /"millrace plugins upgrade (\d+) <path>"/.exec(refused.stderr) ?? [];
    expect((await done('upgrade', id, newer)).stdout).toMatch(/plan-tier +Plan tier +transformation +2\.0\.0/);
  });

  it('upgrades from the registry with its configs, and rolls both back', async () => {
    server.publish('counted', { '1.0.0': tarball('Counted', '1.0.0') });
    await done('install', 'counted');
    const { body } = await configs.get('/plugins/?search=counted');
    const [{ id: plugin = 0 } = {}] = body['results'] as { id: number }[];
    const config = await configs.create('transformation', { plugin });
    server.publish('counted', {
      '1.0.0': tarball('Counted', '1.0.0'),
      '2.0.0': tarball('Counted', '2.0.0'),
      '3.0.0': tarball('Counted', '3.0.0'),
    });
    const versionNow = async () => {
      const { body } = await configs.call('GET', 'transformation', `/${config}/`);
      return (JSON.parse(String(body['plugin_info'])) as { version: string }).version;
    };
    expect((await done('upgrade', 'counted', '--to', '2.0.0')).stdout).toContain('npm:counted@2.0.0');
    expect(await versionNow()).toBe('1.0.0');
    const upgraded = await done('upgrade', 'counted', '--configs');
    expect(upgraded.stderr).toContain(`configs now at 3.0.0: ${config}`);
    expect(await versionNow()).toBe('3.0.0');
    expect((await done('upgrade', 'counted')).stderr).toContain('counted is at 3.0.0 already');
    expect((await done('rollback', 'counted', '--configs')).stdout).toContain('npm:counted@2.0.0');
    expect(await versionNow()).toBe('2.0.0');
    await done('rollback', 'counted');
    const last = await run('rollback', 'counted');
    expect([last.code, last.stderr]).toEqual([
      exitCodes.failed.code,
      expect.stringContaining('no version before 1.0.0'),
    ]);
    const used = await run('remove', 'counted', '--yes');
    expect([used.code, used.stderr]).toEqual([exitCodes.failed.code, expect.stringContaining(`configs ${config}`)]);
  });

  it.each([
    [
      ['install', './nowhere'],
      'usage',
      'expected a folder, a file or an archive, got a path that does not exist: ./nowhere',
    ],
    [
      ['install', 'gone.tgz'],
      'usage',
      'expected a folder, a file or an archive, got a path that does not exist: gone.tgz',
    ],
    [['install', 'no-such-package'], 'failed', 'the registry has no package "no-such-package"'],
    [['install', 'http://10.0.0.1/x.zip'], 'failed', 'could not be fetched'],
    [['upgrade', 'test-mark'], 'usage', 'is built in'],
    [['show', 'test'], 'notFound', 'did you mean test-mark, test-fetch?'],
    [['list', '--kind', 'x'], 'usage', 'Allowed choices are'],
  ] as const)('%j ends with a message', async (args, reason, message) => {
    const { code, stderr } = await run(...args);
    expect(stderr).toContain(message);
    expect(code).toBe(exitCodes[reason].code);
  });
});
