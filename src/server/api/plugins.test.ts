import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';

let configs: ConfigsApp;
beforeAll(async () => {
  configs = await startConfigsApp();
});
afterAll(() => configs[Symbol.asyncDispose]());

describe('plugins', () => {
  it('list shows what each plugin is, where its configs belong and which settings it takes', async () => {
    const { status, body } = await configs.get('/plugins');
    expect(status).toBe(200);
    expect(body).toMatchObject({ count: 2, next: null, previous: null });
    const [first] = body['results'] as Record<string, unknown>[];
    expect(Object.keys(first ?? {})).toEqual([
      'id',
      'slug',
      'name',
      'description',
      'kind',
      'families',
      'version',
      'url',
      'config_schema',
      'public_jobs',
      'capabilities',
      'is_built_in',
      'source_kind',
      'source_url',
      'latest_version',
      'versions',
      'metrics',
      'has_frontend',
      'updated_at',
    ]);
    expect(first).toMatchObject({ is_built_in: true, source_kind: null, source_url: null, versions: 0, metrics: {} });
    expect(first).toMatchObject({
      slug: 'test-mark',
      families: ['transformation'],
      public_jobs: { restart: { description: expect.any(String) } },
      capabilities: { methods: ['processEvent'], scheduled_tasks: [], jobs: [] },
    });
    // Its own six, and the filter that every transformation has.
    expect(first?.['config_schema']).toHaveLength(7);
    const { body: page } = await configs.get('/plugins/?limit=1&offset=1');
    expect(page['results']).toMatchObject([{ slug: 'test-fetch', families: ['import-app'] }]);
  });

  it('retrieve gives one of them; unknown ones and those of other organisations are 404', async () => {
    const id = configs.pluginOf('import-app');
    expect((await configs.get(`/plugins/${id}/`)).body).toMatchObject({ id, slug: 'test-fetch' });
    expect((await configs.get('/plugins/999')).status).toBe(404);
    expect((await configs.get('/plugins/99999999999')).status).toBe(404);
    const { db, foreignProject } = configs.app;
    const own = await db.selectFrom('plugins').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const { id: _, ...columns } = own;
    const foreign = { ...columns, slug: 'foreign', organization_id: foreignProject.organizationId };
    const made = await db.insertInto('plugins').values(foreign).returning('id').executeTakeFirstOrThrow();
    expect((await configs.get(`/plugins/${made.id}`)).status).toBe(404);
    expect((await configs.get('/plugins')).body['count']).toBe(2);
    const refused = await configs.call('POST', 'import-app', '/', { plugin: made.id });
    expect(refused.body).toMatchObject({ code: 'does_not_exist', attr: 'plugin' });
  });
});

describe('jobs', () => {
  it('a job that was started can be followed by its id', async () => {
    const id = await configs.create('import-app');
    const job = { type: 'again', payload: { password: 'hunter2' }, operation: 'retry' };
    const started = await configs.call('POST', 'import-app', `/${id}/job/`, { job });
    expect(started.status).toBe(200);
    const { body, text } = await configs.get(`/jobs/${String(started.headers['x-job-id'])}/`);
    expect(body).toMatchObject({ plugin_config: id, type: 'again', operation: 'retry', state: 'queued', attempts: 0 });
    expect(text).not.toContain('hunter2');
    const listed = await configs.get(`/jobs?plugin_config=${id}&state=queued`);
    expect(listed.body).toMatchObject({ count: 1, results: [body] });
    expect((await configs.get('/jobs?plugin_config=99999999999')).body['count']).toBe(0);
    expect((await configs.get('/jobs/nothing')).status).toBe(404);
    const row = await configs.app.db.selectFrom('jobs').select('payload').executeTakeFirstOrThrow();
    expect(JSON.parse(row.payload)).toEqual({ password: 'hunter2' });
  });

  it('the default of an import app is `run`, enabled or not', async () => {
    const id = await configs.create('import-app', { enabled: false });
    const started = await configs.call('POST', 'import-app', `/${id}/job/`, {});
    const { body } = await configs.get(`/jobs/${String(started.headers['x-job-id'])}`);
    expect(body).toMatchObject({ type: 'run', operation: 'start', state: 'queued' });
  });

  it('the default of a transformation is `restart`, done immediately: the record changes, every worker restarts it', async () => {
    const id = await configs.create('transformation');
    const { updated_at: before } = (await configs.call('GET', 'transformation', `/${id}/`)).body;
    const revision = await configs.revision();
    const started = await configs.call('POST', 'transformation', `/${id}/job/`, {});
    expect(started.body['updated_at']).not.toBe(before);
    expect(await configs.revision()).toBe(revision + 1);
    const { body } = await configs.get(`/jobs/${String(started.headers['x-job-id'])}`);
    expect(body).toMatchObject({ type: 'restart', state: 'succeeded' });
    const [newest] = await configs.activity(id);
    expect(newest?.detail.changes).toEqual([
      { field: 'job', action: 'created', before: null, after: { type: 'restart', operation: 'start' } },
    ]);
  });

  it('a payload beyond 100,000 characters is refused', async () => {
    const id = await configs.create('import-app');
    const job = { type: 'run', payload: { text: 'x'.repeat(100_000) } };
    const { body } = await configs.call('POST', 'import-app', `/${id}/job/`, { job });
    expect(body).toMatchObject({ code: 'max_length', attr: 'job__payload' });
  });

  it.each([
    ['import-app', { type: 'dance' }, 'run, again', 'job__type'],
    ['transformation', { type: 'run' }, 'restart', 'job__type'],
    ['import-app', {}, 'The job type must be specified!', null],
    ['import-app', { type: '' }, 'The job type must be specified!', null],
  ] as const)('%s: job %j is refused, no field is changed', async (family, job, detail, attr) => {
    const id = await configs.create(family);
    const answer = await configs.call('POST', family, `/${id}/job/`, { job, name: 'changed' });
    expect(answer.body).toMatchObject({ type: 'validation_error', code: 'invalid_input', attr });
    expect(answer.body['detail']).toContain(detail);
    expect(await configs.activity(id)).toHaveLength(1);
  });
});

describe('activity log', () => {
  it('is paged newest first, by scope and item, never that of another project', async () => {
    const id = await configs.create('transformation', { name: 'logged' });
    await configs.call('PATCH', 'transformation', `/${id}/`, { name: 'renamed' });
    const { body } = await configs.get(`/activity_log?scope=PluginConfig&item_id=${id}&limit=1`);
    expect(body).toMatchObject({ count: 2, previous: null, next: expect.stringContaining(`item_id=${id}`) });
    const [entry] = body['results'] as Record<string, unknown>[];
    expect(Object.keys(entry ?? {})).toEqual([
      'id',
      'activity',
      'scope',
      'item_id',
      'user',
      'is_system',
      'key_id',
      'key_label',
      'request_id',
      'created_at',
      'detail',
    ]);
    expect(entry).toMatchObject({
      activity: 'updated',
      scope: 'PluginConfig',
      item_id: String(id),
      user: { id: configs.app.user.id, first_name: 'Ada', email: 'ada@example.com' },
      detail: { name: 'renamed', changes: [{ field: 'name', action: 'changed', before: 'logged', after: 'renamed' }] },
    });
    const { inject, otherProject, key } = configs.app;
    const authorization = `Bearer ${await key(['activity_log:read'])}`;
    const elsewhere = await inject({
      url: `/api/projects/${otherProject.id}/activity_log/`,
      headers: { authorization },
    });
    expect(elsewhere.json()).toEqual({ count: 0, next: null, previous: null, results: [] });
    expect((await configs.get('/activity_log?scope=Nonsense')).status).toBe(400);
  });

  it('a change made in the console names the user and no key', async () => {
    const id = await configs.create('transformation');
    const { inject, session, project } = configs.app;
    const reply = await inject({
      method: 'PATCH',
      url: `/api/projects/${project.id}/pipeline_transformation_configs/${id}/`,
      headers: { cookie: await session(), 'sec-fetch-site': 'same-origin', 'x-request-id': 'from-the-console' },
      payload: { enabled: true },
    });
    expect(reply.statusCode).toBe(200);
    const [newest] = await configs.activity(id);
    expect(newest).toMatchObject({
      activity: 'enabled',
      user: { first_name: 'Ada' },
      key_id: null,
      request_id: 'from-the-console',
    });
  });
});
