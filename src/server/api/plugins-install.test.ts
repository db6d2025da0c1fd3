import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../stores/metadata/projects.ts';
import { createProgramLoader } from '../../plugins/packages/program-loader.ts';
import { makeTgz, makeZip, members } from '../../../test/support/archives.ts';
import { testSandbox } from '../../../test/support/describe-plugin.ts';
import { startPackageServer, type PackageServer } from '../../../test/support/package-server.ts';
import { startConfigsApp, type Answer, type ConfigsApp } from '../../../test/support/configs-app.ts';

let server: PackageServer;
let configs: ConfigsApp;
/** Until it resolves no plugin is loaded. */
let gate = Promise.resolve();
beforeAll(async () => {
  server = await startPackageServer();
  const sandbox: typeof testSandbox = { describe: (program) => gate.then(() => testSandbox.describe(program)) };
  configs = await startConfigsApp({ packages: { ...server, sandbox } });
});
afterAll(async () => {
  await configs[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const filesOf = (name: string, code: string, more: object = {}) => ({
  'plugin.json': JSON.stringify({ name, ...more }),
  'index.ts': code,
});
const adds = (key: string) => `export function processEvent(event: any) { event.properties.${key} = 1; return event }`;
const install = (body: object, headers?: Readonly<Record<string, string>>) =>
  configs.plugins('POST', '/', body, headers);
const update = (id: unknown, body: object) => configs.plugins('PATCH', `/${String(id)}/`, body);
const count = async () => (await configs.get('/plugins/?limit=1')).body['count'];

async function installed(body: object): Promise<Answer['body']> {
  const { status, body: record, text } = await install(body);
  if (status !== 201) throw new Error(`expected 201, got ${status}: ${text}`);
  return record;
}

describe('installing a plugin', () => {
  it('typed files become a plugin whose record says what it can do', async () => {
    const config = [{ markdown: '# Hi' }, { key: 'token', secret: true, required: true }];
    const code = `${adds('a')}\nexport const jobs = { refresh: async () => {} }\nexport const metrics = { seen: 'sum' }
      export function runEveryHour() {}`;
    const more = { description: 'd', url: 'https://example.com', config, publicJobs: { refresh: { payload: {} } } };
    const { status, body, headers } = await install({ files: filesOf('Ünder Score', code, more) });
    expect(status).toBe(201);
    expect(headers['location']).toMatch(new RegExp(`/plugins/${String(body['id'])}/$`));
    expect(body).toMatchObject({
      slug: 'under-score',
      name: 'Ünder Score',
      description: 'd',
      url: 'https://example.com',
      kind: 'both',
      families: ['import-app', 'transformation'],
      version: '1',
      latest_version: '1',
      versions: 1,
      is_built_in: false,
      source_kind: 'source',
      source_url: null,
      has_frontend: false,
      capabilities: { methods: ['processEvent'], scheduled_tasks: ['runEveryHour'], jobs: ['refresh'] },
      public_jobs: { refresh: { payload: {} } },
      metrics: { seen: 'sum' },
      config_schema: [
        { markdown: '# Hi' },
        { key: 'token', name: 'token', type: 'string', secret: true, required: true },
        // Every transformation has it.
        { key: '$filter', name: 'Only for events', type: 'json' },
      ],
    });
    expect((await configs.get(`/plugins/${String(body['id'])}`)).body).toEqual(body);
    const row = await configs.app.db
      .selectFrom('plugin_versions')
      .selectAll()
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ plugin_id: body['id'], created_by: configs.app.user.id, frontend: null });
    expect(await createProgramLoader(configs.app.db)(row.id)).toMatchObject({
      pluginName: 'Ünder Score',
      code: row.code,
      version: '1',
    });
  });

  it.each([
    ['.zip', makeZip],
    ['.tgz', makeTgz],
  ])('an uploaded %s', async (extension, make) => {
    const name = `Uploaded ${extension}`;
    const { status, body } = await configs.upload(
      '/',
      'archive',
      make(
        members({
          'top/package.json': `{"name": "${name}", "version": "3.1.0"}`,
          'top/index.js': adds('u').replace(': any', ''),
        }),
      ),
    );
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name,
      version: '3.1.0',
      source_kind: 'archive',
      source_url: null,
      kind: 'transformation',
    });
  });

  it('a package of the registry, by name and version, and a repository by its address', async () => {
    const tarball = (version: string) =>
      makeTgz(
        members({
          'package/plugin.json': '{"name": "From npm"}',
          'package/package.json': `{"version": "${version}"}`,
          'package/index.js': `exports.onEvent = () => ${version[0]}`,
        }),
      );
    server.publish('@posthog/from-npm', { '1.0.0': tarball('1.0.0'), '2.0.0': tarball('2.0.0') });
    const npm = await installed({ npm: '@posthog/from-npm', version: '1.0.0' });
    expect(npm).toMatchObject({
      name: 'From npm',
      version: '1.0.0',
      source_kind: 'npm',
      source_url: 'npm:@posthog/from-npm@1.0.0',
      kind: 'transformation',
    });
    server.answers.set('/github.com/o/Tagged/archive/refs/tags/v7.zip', {
      body: makeZip(members({ 'T-7/index.js': 'function processEvent(e) { return e }' })),
    });
    const git = await installed({ url: 'https://github.com/o/Tagged/releases/tag/v7' });
    expect(git).toMatchObject({
      name: 'Tagged',
      slug: 'tagged',
      version: 'v7',
      source_kind: 'git',
      source_url: 'https://github.com/o/Tagged/releases/tag/v7',
    });
  });

  it('one with a front end only has nothing to run, and serves its front end', async () => {
    const files = { 'plugin.json': '{"name": "Front"}', 'frontend.tsx': 'export const scene = { title: "x" }' };
    expect(await installed({ files })).toMatchObject({ kind: 'none', families: [], has_frontend: true });
  });

  it.each([
    [{}, 'required', 'Expected "files", "url" or "npm"'],
    [{ files: filesOf('x', ''), npm: 'x' }, 'invalid_input', 'got several'],
    [{ files: { 'index.ts': '' } }, 'invalid_input', 'expected a "name"'],
    [
      { files: { 'plugin.json': '{"name": "x", "main": "dist/a.js"}', 'readme.md': '' } },
      'invalid_input',
      'plugin.json names "dist/a.js"',
    ],
    [{ files: filesOf('Broken', 'let a = [') }, 'invalid_input', 'index.ts:1: '],
    [
      { files: filesOf('Forbidden', "import fs from 'fs'\nexport const a = fs") },
      'invalid_input',
      'The plugin cannot be loaded: Cannot import "fs"',
    ],
    [{ files: filesOf('Config', '', { config: 5 }) }, 'invalid_input', 'plugin.json: "config": expected a list'],
    [{ npm: 'missing-package' }, 'invalid_input', 'the registry has no package'],
    [{ url: 'http://169.254.169.254/latest/meta-data' }, 'invalid_input', 'could not be fetched'],
    [{ files: 'text' }, 'invalid_input', 'Expected a dictionary'],
  ])('%j is refused, and nothing is stored', async (body, code, detail) => {
    const before = await count();
    const answer = await install(body);
    expect(answer).toMatchObject({ status: 400, body: { type: 'validation_error', code } });
    expect(answer.body['detail']).toContain(detail);
    expect(await count()).toBe(before);
  });

  it('the same plugin twice is a conflict that names the one that is there: by name, package and repository', async () => {
    const { id } = await installed({ files: filesOf('Only Once', adds('b')) });
    const twice = await install({ files: filesOf('only once', adds('c')) });
    expect(twice).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(twice.body['detail']).toContain(`PATCH …/plugins/${String(id)}/`);
    expect((await install({ npm: '@posthog/from-npm@2.0.0', name: 'Other' })).status).toBe(409);
    server.answers.set('/github.com/o/Tagged/archive/HEAD.zip', { body: makeZip(members({ 'T/index.js': 'let a' })) });
    expect((await install({ url: 'https://github.com/o/Tagged', name: 'Other' })).status).toBe(409);
  });

  it('the name of a built-in plugin may be used: slugs stay apart', async () => {
    expect(await installed({ files: filesOf('Test mark', adds('m')) })).toMatchObject({ slug: 'test-mark-2' });
  });

  it('more than a few at once are asked to wait, and nothing is lost by it', async () => {
    const bodies = Array.from({ length: 6 }, (_, n) => ({ files: filesOf(`At once ${n}`, adds('x')) }));
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    let answered = 0;
    const asking = bodies.map((body) => install(body).finally(() => (answered += 1)));
    await expect.poll(() => answered).toBe(2);
    resolve();
    const answers = await Promise.all(asking);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(4);
    for (const late of answers.filter(({ status }) => status !== 201)) {
      expect(late).toMatchObject({ status: 503, headers: { 'retry-after': '5' }, body: { code: 'unavailable' } });
    }
    const [again] = bodies.slice(statuses.indexOf(503));
    expect((await install(again ?? {})).status).toBe(201);
  });

  it('with an Idempotency-Key it happens once, and the repetition fetches nothing', async () => {
    server.answers.set('/once.zip', {
      body: makeZip(members({ 'index.js': 'exports.processEvent = 1', 'plugin.json': '{"name": "Keyed"}' })),
    });
    const body = { url: `${server.url}/once.zip` };
    const first = await install(body, { 'idempotency-key': 'k1' });
    const again = await install(body, { 'idempotency-key': 'k1' });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(server.asked.filter((path) => path === '/once.zip')).toHaveLength(1);
  });
});

describe('the list of plugins', () => {
  it('is filtered by kind and by text', async () => {
    const { id } = await installed({ files: filesOf('Find 100% Me', adds('f'), { description: 'a needle' }) });
    for (const query of ['search=NEEDLE', 'search=100%25', 'search=find-100', 'kind=transformation&search=needle']) {
      const { body } = await configs.get(`/plugins/?${query}`);
      expect({ query, ...body }).toMatchObject({ query, count: 1, results: [{ id }] });
    }
    expect((await configs.get('/plugins/?kind=import-app&search=needle')).body['count']).toBe(0);
    expect((await configs.get('/plugins/?search=100_')).body['count']).toBe(0);
    expect((await configs.get('/plugins/?kind=nonsense')).status).toBe(400);
  });
});

describe('updating a plugin', () => {
  it('makes a new version the latest; what people said themselves stays', async () => {
    const { id } = await installed({ files: filesOf('Grows', adds('a'), { description: 'old' }) });
    const second = await update(id, { files: filesOf('Grows Up', adds('b'), { description: 'new' }) });
    expect(second).toMatchObject({
      status: 200,
      body: { version: '2', versions: 2, name: 'Grows Up', slug: 'grows', description: 'new' },
    });
    await update(id, { name: 'Mine', description: 'my own' });
    const third = await update(id, { files: filesOf('Grows More', adds('c'), { description: 'newest' }) });
    expect(third.body).toMatchObject({ version: '3', versions: 3, name: 'Mine', description: 'my own' });
    const { body } = await configs.get(`/plugins/${String(id)}/versions/`);
    expect(body).toMatchObject({
      count: 3,
      results: [{ version: '3', is_latest: true }, { version: '2' }, { version: '1', is_latest: false }],
    });
    const source = await configs.get(`/plugins/${String(id)}/versions/2/source/`);
    expect(source.body).toEqual({ version: '2', files: filesOf('Grows Up', adds('b'), { description: 'new' }) });
    expect((await configs.get(`/plugins/${String(id)}/versions/9/source`)).status).toBe(404);
  });

  it('a key that is limited to projects may change what no other project uses', async () => {
    const { id } = await installed({ files: filesOf('Shared', adds('a')) });
    const { organizationId, id: first } = configs.app.project;
    const second = await createProject(configs.app.db, { organizationId, name: 'Second' }, configs.app.clock.now());
    const authorization = `Bearer ${await configs.app.key(['*'], { projectIds: [second.id] })}`;
    const as = (method: 'PATCH' | 'DELETE', body?: object) =>
      configs.app.inject({
        method,
        url: `/api/projects/${second.id}/plugins/${String(id)}/`,
        headers: { authorization },
        ...(body !== undefined && { payload: body }),
      });
    expect((await as('PATCH', { name: 'Shared by none' })).statusCode).toBe(200);
    const config = await configs.create('transformation', { plugin: id });
    const changes = [{ name: 'Mine now' }, { files: filesOf('Shared', adds('b')) }, { version: '1' }];
    const answers = [...(await Promise.all(changes.map((body) => as('PATCH', body)))), await as('DELETE')];
    for (const answer of answers) {
      expect(answer.json()).toMatchObject({
        code: 'permission_denied',
        detail: expect.stringContaining(`projects ${first} `),
      });
      expect(answer.statusCode).toBe(403);
    }
    const { body } = await configs.get(`/plugins/${String(id)}/`);
    expect(body).toMatchObject({ name: 'Shared by none', versions: 1 });
    await configs.call('DELETE', 'transformation', `/${config}/`);
    expect((await as('DELETE')).statusCode).toBe(204);
  });

  it('an older version becomes the latest by its name; the same files make no new one', async () => {
    const { id } = await installed({ files: filesOf('Same', adds('a')) });
    await update(id, { files: filesOf('Same', adds('b')) });
    expect((await update(id, { version: '1' })).body).toMatchObject({ version: '1', versions: 2 });
    expect((await update(id, { files: filesOf('Same', adds('b')) })).body).toMatchObject({ version: '2', versions: 2 });
    const unknown = await update(id, { version: '7' });
    expect(unknown).toMatchObject({ status: 400, body: { code: 'does_not_exist', attr: 'version' } });
  });

  it('another build of an existing version is distinguished', async () => {
    const versioned = (code: string) => ({
      files: { ...filesOf('Built', code), 'package.json': '{"version": "0.0.7"}' },
    });
    const { id } = await installed(versioned(adds('a')));
    expect((await update(id, versioned(adds('b')))).body).toMatchObject({ version: '0.0.7+2' });
    expect((await configs.get(`/plugins/${String(id)}/versions/0.0.7+2/source/`)).status).toBe(200);
  });

  it('a version that cannot be loaded changes nothing', async () => {
    const { id } = await installed({ files: filesOf('Stays', adds('a')) });
    const broken = await update(id, { files: filesOf('Stays', 'syntax error') });
    expect(broken.status).toBe(400);
    expect((await configs.get(`/plugins/${String(id)}`)).body).toMatchObject({ version: '1', versions: 1 });
  });

  it('may not take the name of another one', async () => {
    const { id } = await installed({ files: filesOf('First Name', adds('a')) });
    expect((await update(id, { name: 'grows' })).status).toBe(200);
    await installed({ files: filesOf('Second Name', adds('a')) });
    expect((await update(id, { name: 'second name' })).status).toBe(409);
  });
});

describe('removing a plugin', () => {
  it('takes its versions away; one with configs stays, and the answer names them', async () => {
    const { id } = await installed({ files: filesOf('Used', adds('a')) });
    const config = await configs.create('transformation', { plugin: id });
    await configs.call('PATCH', 'transformation', `/${config}/`, { deleted: true });
    const refused = await configs.plugins('DELETE', `/${String(id)}/`);
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(refused.body['detail']).toContain(`configs ${config} of this project`);
    await configs.call('DELETE', 'transformation', `/${config}/`);
    expect((await configs.plugins('DELETE', `/${String(id)}/`)).status).toBe(204);
    expect((await configs.get(`/plugins/${String(id)}`)).status).toBe(404);
    const left = await configs.app.db
      .selectFrom('plugin_versions')
      .select('id')
      .where('plugin_id', '=', Number(id))
      .execute();
    expect(left).toEqual([]);
  });

  it('built-in ones and those of other organisations are not touched', async () => {
    const builtIn = configs.pluginOf('transformation');
    expect((await configs.plugins('DELETE', `/${builtIn}/`)).body['detail']).toContain('is built in');
    expect((await update(builtIn, { name: 'x' })).body['detail']).toContain('is built in');
    expect((await update(builtIn, { files: filesOf('x', adds('a')) })).status).toBe(400);
    const { db, foreignProject } = configs.app;
    const { id } = await installed({ files: filesOf('Foreign', adds('a')) });
    await db
      .updateTable('plugins')
      .set({ organization_id: foreignProject.organizationId })
      .where('id', '=', Number(id))
      .execute();
    for (const answer of [
      await configs.get(`/plugins/${String(id)}`),
      await configs.get(`/plugins/${String(id)}/versions`),
      await configs.get(`/plugins/${String(id)}/versions/1/source`),
      await update(id, { name: 'Mine now' }),
      await configs.plugins('DELETE', `/${String(id)}`),
    ]) {
      expect(answer.status).toBe(404);
    }
    expect((await install({ files: filesOf('Foreign', adds('a')) })).status).toBe(201);
  });
});

describe('the log of plugins', () => {
  it('tells who installed, updated and removed, in every project of the organisation and in no other', async () => {
    const { id } = await installed({ files: filesOf('Logged', adds('a')) });
    await update(id, { files: filesOf('Logged', adds('b')) });
    await update(id, { files: filesOf('Logged', adds('b')) });
    await configs.plugins('DELETE', `/${String(id)}/`);
    const { body } = await configs.get(`/activity_log/?scope=Plugin&item_id=${String(id)}`);
    const entries = body['results'] as readonly Record<string, unknown>[];
    expect(entries.map(({ activity }) => activity)).toEqual(['uninstalled', 'updated', 'installed']);
    expect(entries[1]).toMatchObject({
      scope: 'Plugin',
      user: { first_name: 'Ada' },
      detail: { name: 'Logged', changes: [{ field: 'version', action: 'changed', before: '1', after: '2' }] },
    });
    const { inject, otherProject, key } = configs.app;
    const authorization = `Bearer ${await key(['activity_log:read'])}`;
    const other = await inject({
      url: `/api/projects/${otherProject.id}/activity_log/?scope=Plugin&item_id=${String(id)}`,
      headers: { authorization },
    });
    expect(other.json()).toMatchObject({ count: 3 });
    const row = await configs.app.db
      .selectFrom('activity_log')
      .selectAll()
      .where('scope', '=', 'Plugin')
      .executeTakeFirstOrThrow();
    expect(row.organization_id).toBe(configs.app.project.organizationId);
  });
});
