import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configsPath, pluginConfigSchema } from '../../wire/contract/plugin-configs.ts';
import { pluginFamilies } from '../../wire/contract/plugins.ts';
import {
  recordKeys,
  siteUrl,
  startConfigsApp,
  type ConfigsApp,
  type Method,
} from '../../../test/support/configs-app.ts';

// Real: server, validation, keys, SQLite. Doubled: the clock, and two plugins that have a setting of every type.

const alwaysText = ['config', 'error', 'plugin_info', 'delivery_rate_24h', 'created_at', 'updated_at'];
const noFrontend = /^export function getFrontendApp \(\) { return {"no_frontend": true} }$/;
const otherFamily = { 'import-app': 'transformation', transformation: 'import-app' } as const;

let configs: ConfigsApp;
beforeAll(async () => {
  configs = await startConfigsApp();
});
afterAll(() => configs[Symbol.asyncDispose]());

it('the published schema names the 14 fields in the documented order', () => {
  expect(Object.keys(pluginConfigSchema.properties)).toEqual(recordKeys);
});

interface Scenario {
  readonly does: string;
  readonly method: Method;
  /** `:id` is a fresh config with name `fresh`. */
  readonly path: string;
  readonly payload?: object | string;
  readonly status: 200 | 201;
  /** Part of the answer. */
  readonly expected?: object;
  /** Activity of the newest entry about the record answered; null: nothing was written. */
  readonly activity: string | null;
  readonly changed?: readonly string[];
}

/** Every operation that answers with a record. `:plugin` stands for the plugin's id. */
const scenarios: readonly Scenario[] = [
  {
    does: 'create with the fields of the published example, a form under a JSON content type',
    method: 'POST',
    path: '/',
    payload: 'plugin=:plugin&order=0',
    status: 201,
    expected: { order: 0, enabled: false, deleted: false, config: '{}', error: 'missing required setting "bucket"' },
    activity: 'created',
  },
  {
    does: 'create with every field',
    method: 'POST',
    path: '',
    payload: { plugin: ':plugin', enabled: true, order: 7, name: 'n', description: 'd', deleted: false },
    status: 201,
    expected: { enabled: true, order: 7, name: 'n', description: 'd' },
    activity: 'created',
    changed: ['plugin', 'enabled', 'order', 'name', 'description', 'deleted'],
  },
  {
    does: 'create straight into the bin, which disables',
    method: 'POST',
    path: '/',
    payload: { plugin: ':plugin', enabled: true, deleted: true },
    status: 201,
    expected: { enabled: false, deleted: true },
    activity: 'created',
  },
  { does: 'retrieve', method: 'GET', path: '/:id/', status: 200, expected: { name: 'fresh' }, activity: 'created' },
  {
    does: 'update with the published example',
    method: 'PATCH',
    path: '/:id/',
    payload: 'plugin=:plugin&order=3',
    status: 200,
    expected: { order: 3 },
    activity: 'order_changed',
    changed: ['order'],
  },
  {
    does: 'update with text that plainly is the type',
    method: 'PATCH',
    path: '/:id',
    payload: { enabled: 'true', order: '-4' },
    status: 200,
    expected: { enabled: true, order: -4 },
    activity: 'enabled',
    changed: ['enabled', 'order'],
  },
  {
    does: 'update to the bin, which disables',
    method: 'PATCH',
    path: '/:id/',
    payload: { deleted: true, enabled: true },
    status: 200,
    expected: { deleted: true, enabled: false },
    activity: 'moved_to_bin',
    changed: ['deleted'],
  },
  {
    does: 'update with nothing changes nothing',
    method: 'PATCH',
    path: '/:id/',
    payload: {},
    status: 200,
    activity: null,
  },
  {
    does: 'update ignores fields that cannot be written and unknown ones',
    method: 'PATCH',
    path: '/:id/',
    payload: { id: 99, config: '{"bucket":"x"}', error: 'e', team_id: 5, plugin_info: {}, created_at: 1, other: [] },
    status: 200,
    expected: { config: '{}' },
    activity: null,
  },
  {
    does: 'replace resets omitted fields to defaults, except the order',
    method: 'PUT',
    path: '/:id/',
    payload: { plugin: ':plugin', enabled: true },
    status: 200,
    expected: { enabled: true, deleted: false },
    activity: 'enabled',
    changed: ['enabled', 'name'],
  },
  { does: 'activity', method: 'GET', path: '/:id/activity/', status: 200, activity: 'created' },
  { does: 'frontend', method: 'GET', path: '/:id/frontend/', status: 200, activity: 'created' },
  {
    does: 'job with the published example',
    method: 'POST',
    path: '/:id/job/',
    payload: 'plugin=:plugin&order=2',
    status: 200,
    expected: { order: 2 },
    activity: 'job_triggered',
    changed: ['order', 'job'],
  },
  {
    does: 'rearrange one by id',
    method: 'PATCH',
    path: '/rearrange/',
    payload: { id: ':id', order: 0, name: 'moved' },
    status: 200,
    expected: { order: 0, name: 'moved' },
    activity: 'updated',
  },
];

const consolePages = { transformation: 'transformations', 'import-app': 'imports' } as const;

describe.each(pluginFamilies)('%s configs', (family) => {
  it.each(scenarios)('$does', async ({ method, path, payload, status, expected, activity, changed }) => {
    const id = await configs.create(family, { name: 'fresh' });
    const revision = await configs.revision();
    const fill = (text: string): string =>
      text.replaceAll('":plugin"', String(configs.pluginOf(family))).replaceAll('":id"', String(id));
    const filled =
      typeof payload === 'string'
        ? payload.replace(':plugin', String(configs.pluginOf(family)))
        : payload && (JSON.parse(fill(JSON.stringify(payload))) as object);
    const answer = await configs.call(method, family, path.replace(':id', String(id)), filled);
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.body)).toEqual(recordKeys);
    for (const key of alwaysText) expect(answer.body[key]).toBeTypeOf('string');
    expect(answer.body).toMatchObject({
      plugin: configs.pluginOf(family),
      team_id: configs.app.project.id,
      ...expected,
    });
    const [newest] = await configs.activity(Number(answer.body['id']));
    expect(newest?.activity).toBe(activity ?? 'created');
    const changedFields = newest?.detail.changes.map((change) => change.field);
    expect(changedFields).toEqual(changed ?? changedFields);
    const writes = activity !== null && method !== 'GET';
    expect(await configs.revision()).toBe(revision + (writes ? 1 : 0));
    expect(newest?.request_id !== answer.headers['x-request-id']).toBe(!writes);
    expect(newest).toMatchObject({ user: { first_name: 'Ada' }, is_system: false, key_id: expect.any(String) });
  });

  it('a record that was read can be sent back by any means and changes nothing', async () => {
    const id = await configs.create(family);
    const { body: record } = await configs.call('GET', family, `/${id}/`);
    const revision = await configs.revision();
    for (const method of ['PATCH', 'PUT'] as const) {
      expect((await configs.call(method, family, `/${id}/`, record)).body).toEqual(record);
    }
    expect(await configs.revision()).toBe(revision);
    expect(await configs.activity(id)).toHaveLength(1);
  });

  it('without a name, a config shows the name and description of the plugin', async () => {
    const id = await configs.create(family, { name: '', description: '' });
    const { body } = await configs.call('GET', family, `/${id}/`);
    const info = JSON.parse(String(body['plugin_info'])) as Record<string, unknown>;
    expect(body).toMatchObject({ name: info['name'], description: info['description'] });
    expect(Object.keys(info)).toEqual([
      'id',
      'name',
      'description',
      'version',
      'kind',
      'capabilities',
      'config_schema',
      'public_jobs',
    ]);
  });

  it('a new config comes last; the answer says where it is', async () => {
    await configs.create(family, { order: 40 });
    const answer = await configs.call('POST', family, '/', { plugin: configs.pluginOf(family) });
    expect(answer.body['order']).toBe(41);
    const path = answer.headers['location'];
    expect(path).toMatch(new RegExp(`^${siteUrl}/api/projects/\\d+/[a-z_]+/${String(answer.body['id'])}/$`));
    await configs.call('DELETE', family, `/${String(answer.body['id'])}/`);
  });

  it.each([
    ['no plugin', {}, 'required', 'plugin'],
    ['unknown plugin', { plugin: 999 }, 'does_not_exist', 'plugin'],
    ['a plugin id beyond any', { plugin: 99_999_999_999 }, 'does_not_exist', 'plugin'],
    ['a plugin that is no number', { plugin: 'x' }, 'invalid_input', 'plugin'],
    ['order beyond 32 bits', { plugin: 1, order: 2_147_483_648 }, 'max_value', 'order'],
    ['order below 32 bits', { plugin: 1, order: -2_147_483_649 }, 'min_value', 'order'],
    ['a name too long', { plugin: 1, name: 'x'.repeat(401) }, 'max_length', 'name'],
    ['a description too long', { plugin: 1, description: 'x'.repeat(1001) }, 'max_length', 'description'],
    ['a number as name', { plugin: 1, name: 5 }, 'invalid_input', 'name'],
    ['enabled that is no boolean', { plugin: 1, enabled: 'maybe' }, 'invalid_input', 'enabled'],
    ['null', { plugin: 1, enabled: null }, 'null', 'enabled'],
    ['a list', [], 'invalid_input', null],
  ])('create refuses %s', async (_name, payload, code, attr) => {
    const answer = await configs.call('POST', family, '/', payload);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ type: 'validation_error', code, attr });
  });

  it('the wrong family is refused with the right path', async () => {
    const other = otherFamily[family];
    const answer = await configs.call('POST', family, '/', { plugin: configs.pluginOf(other) });
    expect(answer.body).toMatchObject({ code: 'invalid_input', attr: 'plugin' });
    expect(answer.body['detail']).toContain(other === 'import-app' ? 'pipeline_import_apps_configs' : 'pipeline_tr');
    const id = await configs.create(other);
    for (const path of [`/${id}/`, `/${id}/activity/`, `/${id}/frontend/`, `/${id}/settings/`]) {
      expect((await configs.call('GET', family, path)).status).toBe(404);
    }
  });

  it('delete is permanent, the last state is kept in the log', async () => {
    const id = await configs.create(family, { name: 'short-lived' });
    const gone = await configs.call('DELETE', family, `/${id}/`);
    expect([gone.status, gone.text]).toEqual([204, '']);
    for (const path of [`/${id}/`, `/${id}/activity/`, `/${id}/frontend/`]) {
      expect((await configs.call('GET', family, path)).status).toBe(404);
    }
    expect((await configs.call('DELETE', family, `/${id}/`)).status).toBe(404);
    const [newest] = await configs.activity(id);
    expect(newest?.activity).toBe('deleted');
    const name = newest?.detail.changes.find((change) => change.field === 'name');
    expect(name).toEqual({ field: 'name', action: 'deleted', before: 'short-lived', after: null });
  });

  it('the bin: not listed, still there, restorable', async () => {
    const id = await configs.create(family, { enabled: true });
    await configs.call('PATCH', family, `/${id}/`, { deleted: true });
    const listed = (await configs.call('GET', family, '/?limit=1000')).body['results'] as { id: number }[];
    expect(listed.map((record) => record.id)).not.toContain(id);
    expect((await configs.call('GET', family, `/${id}/`)).body).toMatchObject({ deleted: true, enabled: false });
    const restored = await configs.call('PATCH', family, `/${id}/`, { deleted: false });
    expect(restored.body).toMatchObject({ deleted: false, enabled: false });
    expect((await configs.activity(id)).map((entry) => entry.activity)).toEqual([
      'restored',
      'moved_to_bin',
      'created',
    ]);
  });

  it('activity gives the record as it stood at a time', async () => {
    const before = new Date(configs.app.clock.now()).toISOString();
    configs.app.clock.advance(1000);
    const id = await configs.create(family, { name: 'first' });
    const first = (await configs.call('GET', family, `/${id}/`)).body;
    const then = new Date(configs.app.clock.now()).toISOString();
    configs.app.clock.advance(1000);
    await configs.call('PATCH', family, `/${id}/`, { name: 'second' });
    const at = (time: string) => configs.call('GET', family, `/${id}/activity/?at=${encodeURIComponent(time)}`);
    expect((await at(then)).body).toEqual(first);
    expect((await at(String(first['created_at']))).body).toEqual(first);
    expect((await at(before)).status).toBe(404);
    expect((await at('2999-01-01')).body).toMatchObject({ name: 'second' });
    expect((await at('yesterday')).body).toMatchObject({ code: 'invalid_input', attr: 'at' });
    const now = await configs.call('GET', family, `/${id}/activity/`);
    expect(now.headers['link']).toContain(`activity_log/?scope=PluginConfig&item_id=${id}>`);
    await configs.call('DELETE', family, `/${id}/`);
    expect((await at(then)).body).toEqual(first);
    expect((await at('2999-01-01')).status).toBe(404);
  });

  it.each([
    [undefined, 200, 'application/json', /^{"id":/],
    ['*/*', 200, 'application/json', /^{"id":/],
    ['text/javascript', 200, 'text/javascript', noFrontend],
    ['application/javascript;q=0.5, text/html;q=0.4', 200, 'text/javascript', noFrontend],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 302, 'undefined', /^$/],
  ])('frontend for Accept: %s answers %i %s', async (accept, status, type, text) => {
    const id = await configs.create(family);
    const answer = await configs.call('GET', family, `/${id}/frontend`, undefined, accept ? { accept } : {});
    expect(answer.status).toBe(status);
    expect(answer.headers['vary']).toBe('Accept');
    expect(String(answer.headers['content-type'])).toContain(type);
    expect(answer.text).toMatch(text);
    const { location } = answer.headers;
    const page = `/console/projects/${configs.app.project.id}/${consolePages[family]}/${id}`;
    expect(location).toBe(status === 302 ? siteUrl + page : undefined);
  });

  it('the page that a front end is redirected to is one of the console', async () => {
    const id = await configs.create(family);
    const answer = await configs.call('GET', family, `/${id}/frontend`, undefined, { accept: 'text/html' });
    const [, , page = ''] =
      /^\/console\/projects\/(\d+)\/(.+)\/\d+$/.exec(String(answer.headers['location']).slice(siteUrl.length)) ?? [];
    expect(readFileSync(new URL('../../../console/src/router.tsx', import.meta.url), 'utf8')).toContain(
      `path: '${page}/$configId'`,
    );
  });

  it('a config in a body is ignored with a warning that names the settings, unless it is what the record says', async () => {
    const plugin = configs.pluginOf(family);
    const base = `${siteUrl}${configsPath(configs.app.project.id, family)}`;
    const created = await configs.call('POST', family, '/', { plugin, config: { bucket: 'b' } });
    const { id, config } = created.body;
    expect([created.status, Object.keys(created.body), config]).toEqual([201, recordKeys, '{}']);
    const warning = `config is read-only and was ignored; PATCH the settings to ${base}${id}/settings/ instead`;
    expect(created.headers['x-warning']).toBe(warning);
    const form = await configs.call('PATCH', family, `/${id}/`, 'config=%7B%22bucket%22%3A%22b%22%7D');
    const replaced = await configs.call('PUT', family, `/${id}/`, { plugin, config: '{"bucket":"b"}' });
    const moved = await configs.call('PATCH', family, '/rearrange/', { id, order: 0, config: { bucket: 'b' } });
    for (const { status, headers } of [form, replaced, moved])
      expect([status, headers['x-warning']]).toEqual([200, warning]);
    const { body: read } = await configs.call('GET', family, `/${id}/`);
    const sentBack = await configs.call('PATCH', family, `/${id}/`, read);
    expect([sentBack.status, sentBack.headers['x-warning']]).toEqual([200, undefined]);
    expect(
      (await configs.call('PATCH', family, `/${id}/settings/`, { bucket: 'b' })).headers['x-warning'],
    ).toBeUndefined();
    expect((await configs.call('GET', family, `/${id}/`)).body['config']).toBe('{"bucket":"b"}');
  });

  it('the delivery rate counts what passed in the last 24 h, dropped on purpose included', async () => {
    const id = await configs.create(family);
    const rate = async (): Promise<unknown> => (await configs.call('GET', family, `/${id}/`)).body['delivery_rate_24h'];
    expect(await rate()).toBe('');
    const hour = (ago: number): string =>
      `${new Date(configs.app.clock.now() - ago * 3_600_000).toISOString().slice(0, 13)}:00:00.000000Z`;
    const row = { config_id: id, project_id: configs.app.project.id };
    const rows = [
      { ...row, hour: hour(1), succeeded: 9000, failed: 13, dropped: 987 },
      { ...row, hour: hour(30), succeeded: 0, failed: 5000, dropped: 0 },
    ];
    await configs.app.db.insertInto('plugin_metrics').values(rows).execute();
    expect(await rate()).toBe('0.9987');
  });
});
