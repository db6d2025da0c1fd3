import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { secretMask } from '../../plugins/fields.ts';
import { testPlugins } from '../../../test/support/plugin-rows.ts';
import { rename } from '../../plugins/transformations/rename.ts';
import { dropEvents } from '../../plugins/transformations/drop-events.ts';
import { insertSample } from '../../pipeline/transform/sample-events.ts';
import { serviceTrialDeps } from '../../pipeline/transform/trial-deps.ts';
import { transformationTestRoutes } from './transformation-tests.ts';

// Real: HTTP server, keys and scopes, metadata (SQLite), the embedded engine, built-in transformations.
type Body = Readonly<Record<string, unknown>>;
const plugins = [...testPlugins, rename, dropEvents];
const sent = { event: 'sign up', distinct_id: 'ann', properties: { plan: 'pro' } };
const unused = async (): Promise<never> => {
  throw new Error('expected no sandbox: these plugins are built in');
};
const packages = { fetch: unused, npmRegistry: '', sandbox: { describe: unused } };
const registry = createRegistry(plugins);
const trialsOf = (db: Metadata) =>
  serviceTrialDeps(db, {
    findPlugin: (slug) => registry.get(slug),
    sandbox: { describe: unused, open: unused, close: unused },
    loadProgram: unused,
    fetch: testHost().fetch,
    geoip: { geoip: undefined, geoipProblem: '' },
    taskMs: 5000,
    now: () => Date.UTC(2026, 10, 20),
  });

let chdb: TempChdb;
let app: TestApp;
let key: string;
/** Of the slug, in this order: rename, drop-events (not enabled), test-mark (without its required setting). */
let ids: number[];

async function post(path: string, payload: object, bearer = key): Promise<{ status: number; body: Body }> {
  const url = `/api/projects/${app.project.id}/pipeline_transformation_configs/${path}`;
  const headers = { authorization: `Bearer ${bearer}` };
  const answer = await app.inject({ method: 'POST', url, headers, payload });
  return { status: answer.statusCode, body: answer.json() };
}

async function addConfig(slug: string, position: number, more: { enabled: number; settings: object }): Promise<number> {
  const { id: plugin_id } = await app.db
    .selectFrom('plugins')
    .select('id')
    .where('slug', '=', slug)
    .executeTakeFirstOrThrow();
  const { id } = await app.db
    .insertInto('plugin_configs')
    .values({
      project_id: app.project.id,
      plugin_id,
      family: 'transformation',
      enabled: more.enabled,
      position,
      name: '',
      description: '',
      deleted: 0,
      settings: JSON.stringify(more.settings),
      error: '',
      created_at: '2026-11-20T10:00:00.000000Z',
      updated_at: '2026-11-20T10:00:00.000000Z',
      plugin_version_id: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

beforeAll(async () => {
  chdb = await tempChdb();
  app = await startTestApp((db, { clock }) =>
    transformationTestRoutes({ db, clock, store: chdb.store, trials: trialsOf(db), packages }),
  );
  key = await app.key();
  await syncPlugins(app.db, plugins, app.clock.now());
  const renaming = { enabled: 1, settings: rename.example.settings };
  ids = [
    await addConfig('rename', 0, renaming),
    await addConfig('drop-events', 1, { enabled: 0, settings: dropEvents.example.settings }),
    await addConfig('test-mark', 2, { enabled: 1, settings: { token: 's3cret' } }),
  ];
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await chdb.close();
});

describe('testing one transformation', () => {
  it('shows before, after and what changed, enabled or not, and changes nothing', async () => {
    const before = await app.db.selectFrom('plugin_configs').selectAll().orderBy('id').execute();
    const { status, body } = await post(`${ids[0]}/test/`, { event: rename.example.before });
    expect(status).toBe(200);
    expect(body).toMatchObject({ before: rename.example.before, after: { event: rename.example.after?.event } });
    expect(Object.keys(body)).toEqual([
      'before',
      'after',
      'outcome',
      'diff',
      'logs',
      'error',
      'captured',
      'jobs',
      'storage',
      'metrics',
      'time_ms',
      'truncated',
    ]);
    expect(body['outcome']).toBe('kept');
    expect(body['diff']).not.toEqual([]);
    const dropped = await post(`${ids[1]}/test/`, { event: dropEvents.example.before });
    expect(dropped.body).toMatchObject({ outcome: 'dropped', after: null, diff: [], error: null });
    expect(await app.db.selectFrom('plugin_configs').selectAll().orderBy('id').execute()).toEqual(before);
  });

  it('of a config with a missing setting says which, and takes it for this test', async () => {
    const { body } = await post(`${ids[2]}/test/`, { event: sent });
    expect(body).toMatchObject({ outcome: 'failed', error: { message: 'missing required setting "bucket"' } });
    const tried = await post(`${ids[2]}/test/`, { event: sent, settings: { bucket: 'b' } });
    expect(tried.body).toMatchObject({
      outcome: 'kept',
      diff: [{ path: '/properties/marked', op: 'add', after: true }],
    });
  });

  it('never repeats a secret', async () => {
    const { body } = await post(`${ids[2]}/test/`, { event: sent, settings: { bucket: 'closed' } });
    expect(body).toMatchObject({ outcome: 'failed', error: { name: 'SettingsError' } });
    expect(JSON.stringify(body)).toContain('bucket is closed for');
    expect(JSON.stringify(body)).not.toContain('s3cret');
  });

  it('takes the latest stored event that matches, without what it went through before', async () => {
    expect(await post(`${ids[0]}/test/`, {})).toMatchObject({
      status: 400,
      body: { code: 'does_not_exist', attr: 'match' },
    });
    const row = (n: number, more: object) =>
      testRow(app.project.id, { timestampMicros: Date.UTC(2026, 10, 19, n) * 1000, ...more });
    await insertRows(chdb.store, 'stored', [
      row(1, { event: 'a', distinctId: 'ann' }),
      row(2, { event: 'b', distinctId: 'bob', properties: '{"n":2,"$plugins_succeeded":["X (1)"]}' }),
      row(3, { event: 'b', distinctId: 'ann', properties: '{"n":3}' }),
      testRow(app.otherProject.id, { event: 'c', timestampMicros: Date.UTC(2026, 10, 19, 5) * 1000 }),
    ]);
    const latest = async (match: object) => (await post(`${ids[0]}/test/`, match)).body['before'];
    expect(await latest({})).toMatchObject({ event: 'b', distinct_id: 'ann', properties: { n: 3 } });
    expect(await latest({ match: { event: 'a' } })).toMatchObject({ event: 'a' });
    const ofBob = await latest({ match: { event: 'b', distinct_id: 'bob' } });
    expect(ofBob).toMatchObject({ timestamp: '2026-11-19T02:00:00.000000Z' });
    expect((ofBob as { properties: object }).properties).toEqual({ n: 2 });
  });

  it('takes the stored event that is named', async () => {
    const uuid = '0190a000-0000-7000-8000-00000000abcd';
    const timestampMicros = Date.UTC(2026, 10, 1) * 1000;
    await insertRows(chdb.store, 'named', [
      testRow(app.project.id, { uuid, event: 'named', timestampMicros }),
      testRow(app.otherProject.id, { uuid: uuid.replace('abcd', 'abce'), event: 'theirs', timestampMicros }),
    ]);
    expect((await post(`${ids[0]}/test/`, { event_id: uuid })).body['before']).toMatchObject({ uuid, event: 'named' });
    for (const foreign of [uuid.replace('abcd', 'abce'), 'no uuid']) {
      const answer = await post('test/', { event_id: foreign });
      expect(answer).toMatchObject({ status: 400, body: { code: 'does_not_exist', attr: 'event_id' } });
    }
  });

  it('takes a sample event of this project, for which no right to read events is needed', async () => {
    const bearer = await app.key(['plugin:write']);
    const sample = { projectId: app.project.id, name: 'mine', event: sent, createdBy: app.user.id, now: 0 };
    const { id } = await insertSample(app.db, sample);
    const foreign = await insertSample(app.db, { ...sample, projectId: app.otherProject.id });
    expect((await post(`${ids[0]}/test/`, { sample_id: id }, bearer)).body['before']).toMatchObject(sent);
    const refused = await post('test/', { sample_id: foreign.id }, bearer);
    expect(refused).toMatchObject({ status: 400, body: { code: 'does_not_exist', attr: 'sample_id' } });
  });

  it('shows no stored event to a key that may not read events', async () => {
    const bearer = await app.key(['plugin:write']);
    const detail = "API key missing required scope 'query:read'";
    expect(await post(`${ids[0]}/test/`, {}, bearer)).toMatchObject({ status: 403, body: { detail } });
    expect((await post(`${ids[0]}/test/`, { event: sent }, bearer)).status).toBe(200);
  });

  it.each<[object, string, string]>([
    [{ event: { event: 'x' } }, 'event', 'expected a text "distinct_id", got: none.'],
    [{ event: sent, settings: { nope: 1 } }, 'settings.nope', 'Unknown setting.'],
    [{ event: 7 }, 'event', ''],
  ])('refuses %j', async (payload, attr, detail) => {
    const { status, body } = await post(`${ids[2]}/test/`, payload);
    expect([status, body['attr']]).toEqual([400, attr]);
    expect(body['detail']).toContain(detail);
  });

  it('knows no config that is not there', async () => {
    expect((await post('999/test/', { event: sent })).status).toBe(404);
  });
});

describe('testing the chain', () => {
  const stepsOf = ({ body }: { body: Body }): Body[] => body['steps'] as Body[];

  it('runs the enabled configs in their order, and shows the event after each', async () => {
    const answer = await post('test/', { event: rename.example.before });
    expect(answer.status).toBe(200);
    expect(stepsOf(answer).map((step) => [step['config_id'], step['outcome']])).toEqual([
      [ids[0], 'kept'],
      [ids[2], 'failed'],
    ]);
    expect(answer.body['outcome']).toBe('failed');
    expect(answer.body['after']).toMatchObject({ event: rename.example.after?.event });
    expect(stepsOf(answer)[0]).toMatchObject({ name: rename.name, after: { event: rename.example.after?.event } });
  });

  it('takes those that are not enabled too, or another order, to try it', async () => {
    const all = await post('test/', { event: sent, include_disabled: true });
    expect(stepsOf(all).map((step) => step['config_id'])).toEqual(ids);
    const chosen = await post('test/', { event: dropEvents.example.before, config_ids: [ids[1], ids[0]] });
    expect(stepsOf(chosen).map((step) => step['config_id'])).toEqual([ids[1]]);
    expect(chosen.body).toMatchObject({ outcome: 'dropped', after: null });
  });

  it('refuses configs that are not there', async () => {
    const { status, body } = await post('test/', { event: sent, config_ids: [ids[0], 998, 999] });
    expect([status, body['attr']]).toEqual([400, 'config_ids']);
    expect(body['detail']).toContain('998, 999');
  });

  it('of no config leaves the event as it is', async () => {
    const { body } = await post('test/', { event: sent, config_ids: [] });
    expect(body).toMatchObject({ outcome: 'kept', steps: [], after: sent });
  });
});

describe('testing a chain that is not saved', () => {
  const stepsOf = ({ body }: { body: Body }): Body[] => body['steps'] as Body[];
  const placesOf = (answer: { body: Body }): unknown[] =>
    stepsOf(answer).map((step) => [step['index'], step['config_id'], step['outcome']]);
  const pluginOf = async (slug: string): Promise<number> =>
    (await app.db.selectFrom('plugins').select('id').where('slug', '=', slug).executeTakeFirstOrThrow()).id;

  it('runs stored, changed and new steps in the order given, skips disabled ones, and stores nothing', async () => {
    const before = await app.db.selectFrom('plugin_configs').selectAll().orderBy('id').execute();
    const answer = await post('test/', {
      event: rename.example.before,
      steps: [
        { config_id: ids[2], settings: { bucket: 'b' } },
        { config_id: ids[1], enabled: false },
        { plugin: await pluginOf('rename'), settings: rename.example.settings },
      ],
    });
    expect(answer.status).toBe(200);
    expect(placesOf(answer)).toEqual([
      [0, ids[2], 'kept'],
      [2, null, 'kept'],
    ]);
    expect(answer.body['after']).toMatchObject({ event: rename.example.after?.event, properties: { marked: true } });
    expect(await app.db.selectFrom('plugin_configs').selectAll().orderBy('id').execute()).toEqual(before);
  });

  it('uses the stored secret where the field is omitted or null, and never shows it', async () => {
    for (const given of [{ bucket: 'closed' }, { bucket: 'closed', token: null }]) {
      const answer = await post('test/', { event: sent, steps: [{ config_id: ids[2], settings: given }] });
      expect(JSON.stringify(answer.body)).toContain('bucket is closed for');
      expect(JSON.stringify(answer.body)).not.toContain('s3cret');
    }
  });

  it.each<[string, object, string, string]>([
    ['a step of nothing', { enabled: true }, 'steps__0', 'Expected "config_id", "plugin" or "files"'],
    ['a step of two things', { config_id: 1, plugin: 1 }, 'steps__0', 'got: both'],
    ['a config that is not there', { config_id: 999 }, 'steps', 'no transformation config 999'],
    ['a plugin that is not there', { plugin: 999_999 }, 'steps__0__plugin', 'does not exist'],
    ['invalid code', { files: { 'index.js': 'a b c' } }, 'steps__0__files', 'index.js'],
    ['a version of what is built in', { config_id: 1, version: '9' }, 'steps__0__version', 'no version "9"'],
  ])('refuses %s, naming the step', async (_name, step, attr, detail) => {
    const { status, body } = await post('test/', { event: sent, steps: [step] });
    expect([status, body['attr']]).toEqual([400, attr]);
    expect(body['detail']).toContain(detail);
  });

  it('refuses a setting by step and key', async () => {
    const steps = [{ config_id: ids[0] }, { config_id: ids[2], settings: { nope: 1, token: secretMask } }];
    const { status, body } = await post('test/', { event: sent, steps });
    expect(status).toBe(400);
    expect(body['errors']).toMatchObject([{ attr: 'steps__1__settings.nope' }, { attr: 'steps__1__settings.token' }]);
  });
});
