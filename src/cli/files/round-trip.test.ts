import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';
import { testSandbox } from '../../../test/support/describe-plugin.ts';
import { startPackageServer, type PackageServer } from '../../../test/support/package-server.ts';
import type { JsonValue } from '../../base/json.ts';
import { familyPaths, type Family } from '../../wire/contract/plugins.ts';
import { fieldsOf } from '../../imports/run/run-settings.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { kebab } from '../../plugins/packages/slug.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import type { Plugin } from '../../plugins/plugin.ts';
import { exitCodes } from '../exit-codes.ts';
import { applyPlan, configurationFileJsonSchema, planFile } from './configuration-files.ts';

let configs: ConfigsApp;
let server: PackageServer;
let folder: string;
let env: Record<string, string>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-files-'));
  server = await startPackageServer();
  configs = await startConfigsApp({ plugins: builtInPlugins, packages: { ...server, sandbox: testSandbox } });
  await configs.app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = configs.app.app.server.address() as AddressInfo;
  env = { MILLRACE_URL: `http://127.0.0.1:${port}`, MILLRACE_API_KEY: await configs.app.key() };
});
afterEach(async () => {
  await configs[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const file = (): string => join(folder, 'millrace.yaml');
const run = (command: string, ...args: readonly string[]): Promise<Finished> =>
  runCommand([command, ...(command === 'export' ? [] : ['--file', file()]), ...args], { env });
async function done(command: string, ...args: readonly string[]): Promise<Finished> {
  const finished = await run(command, ...args);
  if (finished.code !== 0)
    throw new Error(`${command} ended with ${finished.code}: ${finished.stderr}${finished.stdout}`);
  return finished;
}

async function pluginId(slug: string): Promise<number> {
  const row = configs.app.db.selectFrom('plugins').select('id').where('slug', '=', slug);
  return (await row.executeTakeFirstOrThrow()).id;
}

async function create(plugin: Plugin, fields: object, settings: SettingValues): Promise<number> {
  const id = await configs.create(plugin.kind, { plugin: await pluginId(plugin.slug), ...fields });
  const { status, text } = await configs.call('PUT', plugin.kind, `/${id}/settings/`, settings);
  if (status !== 200) throw new Error(`settings of ${plugin.slug}: ${text}`);
  return id;
}

/** Everything in a project, with plain secrets and without fields that differ each time. */
async function stored(): Promise<unknown[]> {
  const rows = await configs.app.db
    .selectFrom('plugin_configs')
    .select(['family', 'plugin_id', 'name', 'description', 'enabled', 'settings'])
    .where('project_id', '=', configs.app.project.id)
    .where('deleted', '=', 0)
    .orderBy('family')
    .orderBy('position')
    .orderBy('id')
    .execute();
  return rows.map((row) => Object.assign(row, { settings: JSON.parse(row.settings) as unknown }));
}

async function wipe(): Promise<void> {
  for (const family of Object.keys(familyPaths) as Family[]) {
    const { body } = await configs.call('GET', family, '/?limit=1000');
    for (const { id } of body['results'] as { id: number }[]) await configs.call('DELETE', family, `/${id}/`);
  }
}

async function countActivity(): Promise<number> {
  const count = configs.app.db.selectFrom('activity_log').select((eb) => eb.fn.countAll<number>().as('count'));
  return Number((await count.executeTakeFirstOrThrow()).count);
}

/** 20 transformations and 3 import apps with their secrets, which come back as variables. */
async function fillProject(): Promise<Record<string, string>> {
  const example = (plugin: Plugin): SettingValues =>
    'example' in plugin ? (plugin.kind === 'transformation' ? plugin.example.settings : plugin.example) : {};
  const hasSecret = (plugin: Plugin): boolean =>
    fieldsOf(plugin).some(({ key, secret }) => secret === true && key in example(plugin));
  const transformations = builtInPlugins.filter(({ kind }) => kind === 'transformation');
  const withSecret = transformations.filter(hasSecret);
  const others = transformations.filter((plugin) => !withSecret.includes(plugin));
  const imports = builtInPlugins.filter(({ slug }) => ['mixpanel', 'postgres', 's3'].includes(slug));
  const chosen = [...withSecret, ...others].slice(0, 20);
  const variables: Record<string, string> = {};
  for (const [index, plugin] of [...chosen, ...imports].entries()) {
    const name = index % 3 === 0 ? '' : `${plugin.name} ${index}: "it's", #1`;
    const settings: Record<string, JsonValue> = { ...example(plugin) };
    if (['s3', 'postgres'].includes(plugin.slug)) settings['format'] = 'mixpanel';
    for (const { key, secret } of fieldsOf(plugin)) {
      if (secret !== true || !(key in settings)) continue;
      const value = `hidden ${index} ${key}`;
      settings[key] = value;
      variables[
        kebab(`${name === '' ? plugin.name : name} ${key}`)
          .replaceAll('-', '_')
          .toUpperCase()
      ] = value;
    }
    await create(
      plugin,
      { name, enabled: index % 4 !== 0, ...(index % 5 === 0 && { description: 'Why\nit is here.' }) },
      settings,
    );
  }
  expect([chosen.length, imports.length]).toEqual([20, 3]);
  expect(Object.keys(variables).length).toBeGreaterThanOrEqual(5);
  return variables;
}

describe('configuration files', () => {
  it('export, wipe, apply, diff: no differences, secrets included, and applying again changes nothing', async () => {
    const variables = await fillProject();
    const before = await stored();
    const exported = await done('export', '--file', file());
    const text = await readFile(file(), 'utf8');
    for (const name of Object.keys(variables)) expect(exported.stderr).toContain(name);
    expect(text).not.toMatch(/hidden|SECRET FIELD/);
    const editor = new Ajv({ strict: false }).compile(configurationFileJsonSchema());
    expect([editor(parse(text)), editor.errors]).toEqual([true, null]);
    await done('validate');

    const blind = await done('diff');
    expect(blind.stderr).toContain(`no differences; ${Object.keys(variables).length} not compared`);
    Object.assign(env, variables);
    expect((await done('diff')).stderr).toBe('no differences\n');

    await wipe();
    const differs = await run('diff');
    expect([differs.code, differs.stderr]).toEqual([exitCodes.differences.code, '23 to create\n']);
    expect(differs.stdout).not.toContain('hidden');
    await done('apply', '--dry-run');
    expect(await stored()).toEqual([]);
    expect((await run('apply')).stderr).toContain('Add --yes');

    const applied = await done('apply', '--yes');
    expect(applied.stdout + applied.stderr).not.toContain('hidden');
    expect(await stored()).toEqual(before);
    const drift = await done('diff');
    expect([drift.stdout, drift.stderr]).toEqual(['', 'no differences\n']);

    const activity = await countActivity();
    expect((await done('apply', '--yes')).stderr).toBe('no differences\n');
    expect(await countActivity()).toBe(activity);
  });

  it('drift of every kind is shown and corrected, without showing a secret', async () => {
    const [first, second, hash] = ['drop-events', 'geoip', 'hash-properties'].map((slug) => {
      const plugin = builtInPlugins.find((each) => each.slug === slug);
      if (plugin === undefined) throw new Error(`expected ${slug}`);
      return plugin;
    }) as [Plugin, Plugin, Plugin];
    const a = await create(first, { name: 'A', enabled: true }, { events: '$pageleave' });
    await create(second, { name: 'B', enabled: true }, {});
    const c = await create(hash, { name: 'C', enabled: true }, { propertiesToHash: 'email', salt: 'pepper' });
    await done('export', '--file', file());
    env['C_SALT'] = 'pepper';
    const before = await stored();

    await configs.call('PATCH', 'transformation', `/${a}/settings/`, { events: '$autocapture' });
    await configs.call('PATCH', 'transformation', `/${a}/`, { enabled: false, description: 'paused' });
    await configs.call('PATCH', 'transformation', `/${c}/settings/`, { salt: 'vinegar' });
    await configs.call('PATCH', 'transformation', '/rearrange/', { id: c, order: 0 });
    const extra = await create(first, { name: 'Extra', enabled: true }, { events: 'x' });

    const left = await run('diff');
    expect(left.code).toBe(exitCodes.differences.code);
    expect(left.stdout).toContain('settings.events: "$autocapture" → "$pageleave"');
    expect(left.stdout).toContain('enabled: false → true');
    expect(left.stdout).toContain('settings.salt: another value → variable C_SALT');
    expect(left.stdout).toContain('"C" (hash-properties) moves to position 4');
    expect(left.stdout).toContain('"Extra" (drop-events): not in the file, kept');
    expect(left.stderr).toBe('2 to change, 1 to move; 1 not in the file and kept; --prune deletes them\n');
    expect(left.stdout + left.stderr).not.toMatch(/pepper|vinegar/);
    const record = JSON.parse((await run('diff', '--prune', '--json')).stdout) as object;
    expect(record).toMatchObject({ differences: true, change: 2, move: 1, bin: 1, left: 0 });

    await done('apply', '--yes');
    expect((await stored()).filter((row) => (row as { name: string }).name !== 'Extra')).toEqual(before);
    expect((await done('diff')).stderr).toContain('no differences; 1 not in the file');
    await done('apply', '--prune', '--yes');
    expect(await stored()).toEqual(before);
    expect((await done('diff', '--prune')).stderr).toBe('no differences\n');
    const { body } = await configs.call('GET', 'transformation', `/${extra}/`);
    expect(body).toMatchObject({ deleted: true, name: 'Extra' });
  });

  it('a schedule is applied; fields that the file omits stay', async () => {
    const postgres = builtInPlugins.find(({ slug }) => slug === 'postgres');
    if (postgres === undefined || !('example' in postgres) || postgres.kind === 'transformation')
      throw new Error('expected postgres');
    const settings = { ...postgres.example, format: 'mixpanel' };
    const id = await create(postgres, { name: 'Orders', enabled: false }, settings);
    const schedule = { every_minutes: 15, overlap_minutes: 60, from: '2026-01-31T00:00:00Z' };
    await configs.call('PUT', 'import-app', `/${id}/schedule/`, schedule);
    await done('export', '--file', file());
    const text = await readFile(file(), 'utf8');
    const [exported] = (parse(text) as { projects: { import_apps: object[] }[] }).projects[0]?.import_apps ?? [];
    expect(exported).toMatchObject({ schedule: { every_minutes: 15, overlap_minutes: 60, paused: false } });

    await configs.call('DELETE', 'import-app', `/${id}/schedule/`);
    const differs = await run('diff', '--keep-secrets');
    expect(differs.stdout).toContain('schedule: {"every_minutes":15,"overlap_minutes":60,"paused":false}');
    await done('apply', '--yes', '--keep-secrets');
    const applied = await configs.call('GET', 'import-app', `/${id}/schedule/`);
    expect(applied.body).toMatchObject({ every_minutes: 15, daily_at: null, overlap_minutes: 60, paused: false });

    await configs.call('PATCH', 'import-app', `/${id}/schedule/`, { paused: true });
    await writeFile(file(), text.replace(/ +schedule:\n( +(every|overlap|paused).*\n)+/, ''));
    expect((await done('diff', '--keep-secrets')).stderr).toContain('no differences');
    await writeFile(file(), text.replace(/( +)schedule:\n( +(every|overlap|paused).*\n)+/, '$1schedule: null\n'));
    await done('apply', '--yes', '--keep-secrets');
    expect((await configs.call('GET', 'import-app', `/${id}/schedule/`)).status).toBe(404);
  });

  it('references must have values before anything changes, unless secrets are kept', async () => {
    await writeFile(
      file(),
      `version: 1
projects:
  - name: First
    transformations:
      - plugin: geoip
      - plugin: hash-properties
        settings: { propertiesToHash: email, salt: { file: secrets/salt } }
`,
    );
    const refused = await run('apply', '--yes');
    expect([refused.code, refused.stderr]).toEqual([
      exitCodes.invalidConfig.code,
      expect.stringContaining('transformations "Hash properties": file secrets/salt'),
    ]);
    expect((await run('apply', '--yes', '--keep-secrets')).code).toBe(exitCodes.invalidConfig.code);
    expect(await stored()).toEqual([]);
    await mkdir(join(folder, 'secrets'));
    await writeFile(join(folder, 'secrets/salt'), 'from a file\n');
    await done('apply', '--yes');
    expect(await stored()).toMatchObject([{ enabled: 1 }, { settings: { salt: 'from a file' } }]);
    await rm(join(folder, 'secrets'), { recursive: true });
    expect((await run('apply', '--yes')).code).toBe(exitCodes.invalidConfig.code);
    expect((await done('diff', '--keep-secrets')).stderr).toContain('no differences; 1 not compared');
    await writeFile(file(), (await readFile(file(), 'utf8')).replace('email', 'phone'));
    expect((await run('apply', '--yes')).code).toBe(exitCodes.invalidConfig.code);
    await done('apply', '--yes', '--keep-secrets');
    expect(await stored()).toMatchObject([{}, { settings: { salt: 'from a file', propertiesToHash: 'phone' } }]);
  });

  it('a change made after the plan stops apply, which reports what was done and what was not', async () => {
    const drop = builtInPlugins.find(({ slug }) => slug === 'drop-events');
    if (drop === undefined) throw new Error('expected drop-events');
    await create(drop, { name: 'A', enabled: true }, { events: 'a' });
    const b = await create(drop, { name: 'B', enabled: true }, { events: 'b' });
    await create(drop, { name: 'C', enabled: true }, { events: 'c' });
    await done('export', '--file', file());
    await writeFile(file(), (await readFile(file(), 'utf8')).replaceAll(/events: (.)$/gm, 'events: new $1'));
    const note = (): void => undefined;
    const process = { env, stdin: [] } as never;
    const options = { url: env['MILLRACE_URL'] ?? '', apiKey: env['MILLRACE_API_KEY'] ?? '', file: file() };
    const { plan, input } = await planFile(options, { process, note });
    await configs.call('PATCH', 'transformation', `/${b}/settings/`, { events: 'theirs' });
    const error = await applyPlan({ ...input, note }, plan).catch((thrown: unknown) => thrown as Error);
    expect(String(error)).toMatch(/change "B" .*: 412: The config was changed/);
    expect(String(error)).toMatch(/1 done before[^]*not done: change "B"[^]*not done: change "C"/);
    expect(await stored()).toMatchObject([
      { settings: { events: 'new a' } },
      { settings: { events: 'theirs' } },
      { settings: { events: 'c' } },
    ]);
  });

  it('a missing project is created, a renamed config keeps its settings, and another project can be named', async () => {
    const text = (name: string, more = ''): string => `version: 1
projects:
  - name: ${name}
    timezone: Europe/Paris
    import_apps: []
    transformations:
      - { plugin: drop-events, name: Leaves, ${more}settings: { events: $pageleave } }
`;
    await writeFile(file(), text('Fresh'));
    expect((await run('diff')).stdout).toContain('+ project "Fresh"');
    await done('apply', '--yes');
    expect((await done('diff', '--prune')).stderr).toBe('no differences\n');
    const of = (name: string) =>
      configs.app.db.selectFrom('projects').selectAll().where('name', '=', name).executeTakeFirst();
    expect(await of('Fresh')).toMatchObject({ timezone: 'Europe/Paris' });

    await writeFile(file(), text('Elsewhere'));
    await done('apply', '--yes', '--project', String(configs.app.project.id));
    expect(await of('Elsewhere')).toBeUndefined();
    const [row] = await stored();
    expect(row).toMatchObject({ name: 'Leaves', enabled: 1 });
    await writeFile(file(), text('Elsewhere', 'previous_name: Leaves, ').replace('name: Leaves,', 'name: Gone,'));
    const { code, stdout } = await run('diff', '--project', String(configs.app.project.id));
    expect([code, stdout]).toEqual([exitCodes.differences.code, expect.stringContaining('name: "Leaves" → "Gone"')]);
    await done('apply', '--yes', '--project', String(configs.app.project.id));
    expect(await stored()).toEqual([{ ...(row as object), name: 'Gone' }]);
  });

  it('a plan shows references and never their values', async () => {
    const found = 'found-on-this-machine';
    await writeFile(join(folder, 'found.txt'), found);
    env['FOUND'] = found;
    const configs = (value: string): string =>
      `version: 1\nprojects:\n  - name: First\n    transformations:\n      - { plugin: drop-events, settings: { events: ${value} } }\n`;
    const plans: string[] = [];
    const plan = async (value: string): Promise<void> => {
      await writeFile(file(), configs(value));
      for (const words of [[], ['--json']]) {
        const { stdout, stderr } = await run('diff', ...words);
        plans.push(stdout + stderr);
      }
    };
    for (const value of ['{ env: FOUND }', '{ file: found.txt }']) await plan(value);
    await writeFile(file(), configs('plain'));
    await done('apply', '--yes');
    for (const value of ['{ env: FOUND }', '{ file: found.txt }']) await plan(value);
    expect(plans).toHaveLength(8);
    for (const [index, text] of plans.entries()) {
      expect(text).not.toContain(found);
      expect(text).toContain(index % 4 < 2 ? 'variable FOUND' : 'file found.txt');
    }
    await writeFile(file(), configs('{ env: FOUND }'));
    await done('apply', '--yes');
    expect((await done('diff')).stderr).toBe('no differences\n');
  });

  it('a local plugin is installed, upgraded with its configs, and exported', async () => {
    const source = join(folder, 'plugins/mine');
    const write = async (version: string): Promise<void> => {
      await mkdir(source, { recursive: true });
      const schema = [
        { key: 'word', name: 'Word', type: 'string' },
        { key: 'token', name: 'Token', type: 'string', secret: true },
      ];
      await writeFile(join(source, 'plugin.json'), JSON.stringify({ name: 'Mine', config: schema }));
      await writeFile(join(source, 'package.json'), JSON.stringify({ version }));
      await writeFile(join(source, 'index.js'), `exports.processEvent = (event) => event // ${version}`);
    };
    await write('1.0.0');
    await writeFile(
      file(),
      `version: 1
plugins:
  mine: { source: ./plugins/mine }
projects:
  - name: First
    transformations:
      - { plugin: mine, settings: { word: hello, token: { env: MINE_TOKEN } } }
`,
    );
    env['MINE_TOKEN'] = 'hidden';
    expect((await run('diff')).stdout).toContain('+ plugin mine from ./plugins/mine');
    await done('apply', '--yes');
    expect((await done('diff')).stderr).toBe('no differences\n');
    await write('2.0.0');
    expect((await run('diff')).stdout).toMatch(/~ plugin mine: 1\.0\.0[^]*version: "1\.0\.0" → "of \.\/plugins\/mine"/);
    await done('apply', '--yes');
    expect((await done('diff')).stderr).toBe('no differences\n');
    const { body } = await configs.call('GET', 'transformation', '/');
    const [record] = body['results'] as { plugin_info: string; config: string }[];
    expect(JSON.parse(record?.plugin_info ?? '')).toMatchObject({ version: '2.0.0' });

    const elsewhere = join(folder, 'elsewhere/millrace.yaml');
    await done('export', '--file', elsewhere);
    expect(await readFile(join(folder, 'elsewhere/plugins/mine/index.js'), 'utf8')).toContain('2.0.0');
    expect((await runCommand(['diff', '-f', elsewhere], { env })).stderr).toBe('no differences\n');
    await writeFile(elsewhere, (await readFile(elsewhere, 'utf8')).replace('word:', 'wort:'));
    const wrong = await runCommand(['apply', '-f', elsewhere, '--yes'], { env });
    expect([wrong.code, wrong.stderr]).toEqual([
      exitCodes.invalidConfig.code,
      expect.stringContaining('unknown setting; did you mean "word"?'),
    ]);
  });

  it('settings files are uploaded, compared by content, and named in an export', async () => {
    await mkdir(join(folder, 'rules'));
    const rules = join(folder, 'rules/Hosts.json');
    await writeFile(rules, '[]');
    await writeFile(
      file(),
      `version: 1
projects:
  - name: First
    transformations:
      - { plugin: filter-out, name: Hosts, settings: { filters: { file: rules/Hosts.json }, eventsToDrop: x } }
`,
    );
    await done('apply', '--yes');
    expect((await done('diff')).stderr).toBe('no differences\n');
    await writeFile(rules, '[[]]');
    expect((await run('diff')).stdout).toContain('settings.filters: another value → file rules/Hosts.json');
    await done('apply', '--yes');
    expect((await done('diff')).stderr).toBe('no differences\n');
    const contents = configs.app.db.selectFrom('plugin_attachments').select('content');
    expect(Buffer.from((await contents.executeTakeFirstOrThrow()).content).toString()).toBe('[[]]');
    const exported = await done('export');
    expect(exported.stderr).toContain('put them at files/hosts/hosts.json');
    expect(parse(exported.stdout)).toMatchObject({
      projects: [{ transformations: [{ settings: { filters: { file: 'files/hosts/hosts.json' } } }] }],
    });
    await writeFile(file(), (await readFile(file(), 'utf8')).replace('filters: { file: rules/Hosts.json }, ', ''));
    expect((await run('diff')).stdout).toContain('- settings.filters: file Hosts.json');
    await done('apply', '--yes');
    expect(await contents.execute()).toEqual([]);
  });

  it.each<[string, readonly string[], string | undefined, keyof typeof exitCodes, string]>([
    [
      'a plugin that is not there',
      ['diff'],
      'plugins: { gone: {} }\nprojects: [{ name: First, transformations: [{ plugin: gone }] }]',
      'invalidConfig',
      '"gone" is not installed',
    ],
    [
      'several projects for one',
      ['diff', '--project', '1'],
      'projects: [{ name: a }, { name: b }]',
      'failed',
      'expected one project in the file, got 2',
    ],
    ['no file', ['apply', '--yes'], undefined, 'usage', 'cannot read'],
    ['no file to compare', ['diff'], undefined, 'failed', 'cannot read'],
    ['an unknown option', ['diff', '--colour'], 'projects: [{ name: a }]', 'failed', 'unknown option'],
    ['a key that may not', ['apply', '--yes', '--api-key', 'phx_wrong'], 'projects: [{ name: a }]', 'auth', ''],
  ])('%s ends with a message', async (_name, [command = '', ...args], text, reason, message) => {
    if (text !== undefined) await writeFile(file(), `version: 1\n${text}\n`);
    const { code, stderr } = await run(command, ...args);
    expect(stderr).toContain(message);
    expect(code).toBe(exitCodes[reason].code);
  });

  it('a read-only key compares everything but secrets', async () => {
    const hash = builtInPlugins.find(({ slug }) => slug === 'hash-properties');
    if (hash === undefined) throw new Error('expected hash-properties');
    await create(hash, { name: 'H', enabled: true }, { propertiesToHash: 'email', salt: 'pepper' });
    await done('export', '--file', file());
    env['H_SALT'] = 'pepper';
    env['MILLRACE_API_KEY'] = await configs.app.key(['plugin:read', 'project:read']);
    const { stdout, stderr } = await done('diff');
    expect(stderr).toBe('no differences; 1 not compared\n');
    expect(stdout).toContain('settings.salt: comparison needs a key with plugin:write: not compared');
  });
});
