import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addDeliveries } from '../../queue/jobs/deliveries.ts';
import { claim, enqueue, fail, succeed, type Job } from '../../queue/jobs/queue.ts';
import { createSchedule } from '../../queue/jobs/runner.ts';
import { addApp, deliveryEvent, sharedClock } from '../../../test/support/jobs.ts';
import { startConfigsApp, type Answer, type ConfigsApp } from '../../../test/support/configs-app.ts';

let configs: ConfigsApp;
let authorization: string;
beforeEach(async () => {
  configs = await startConfigsApp();
  authorization = `Bearer ${await configs.app.key()}`;
});
afterEach(() => configs[Symbol.asyncDispose]());

function configure(capabilities: object): Promise<number> {
  const { app } = configs;
  return addApp(app.db, app.project.id, { capabilities, now: app.clock.now() });
}

async function post(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const { app } = configs;
  const url = `/api/projects/${app.project.id}/jobs/${path}`;
  const reply = await app.inject({ method: 'POST', url, headers: { authorization, ...headers } });
  return { status: reply.statusCode, headers: reply.headers, body: reply.json() as Answer['body'], text: reply.body };
}

async function add(configId: number): Promise<string> {
  const { app } = configs;
  const job = { projectId: app.project.id, configId, type: 'sync', operation: 'start', payload: {} };
  return enqueue(app.db, { ...job, now: app.clock.now() });
}

async function take(): Promise<Job> {
  const job = await claim(configs.app.db, configs.app.clock.now(), 1000);
  if (job === undefined) throw new Error('expected a job to be due');
  return job;
}

async function failedJob(configId: number): Promise<string> {
  const id = await add(configId);
  const now = configs.app.clock.now();
  await fail(configs.app.db, await take(), { error: 'no route', now, delayMs: 0, final: true });
  return id;
}

describe('jobs in view', () => {
  it('ticks of a schedule show as what they are, with when they ran and how long', async () => {
    const { app } = configs;
    const id = await configure({ scheduled_tasks: ['runEveryMinute'] });
    const updatedAt = new Date(app.clock.now()).toISOString();
    const plan = { configId: id, projectId: app.project.id, updatedAt, tasks: ['runEveryMinute'] };
    await createSchedule({ db: app.db, clock: sharedClock(app.clock) }).plan([plan]);
    const job = await take();
    app.clock.advance(1500);
    await succeed(app.db, job, app.clock.now());
    const { body } = await configs.get(`/jobs/?plugin_config=${id}&kind=scheduled`);
    expect(body).toMatchObject({
      count: 1,
      results: [
        { kind: 'scheduled', type: 'runEveryMinute', state: 'succeeded', attempts: 1, duration_ms: 1500, error: '' },
      ],
    });
    expect((await configs.get('/jobs/?kind=delivery')).body).toMatchObject({ count: 0 });
    expect((await configs.get('/jobs/?kind=dream')).status).toBe(400);
  });

  it('a delivery never shows the events that it carries', async () => {
    const { app } = configs;
    const id = await configure({ methods: ['onEvent'] });
    const events = [deliveryEvent('e', { propertiesText: '{"password":"hunter2"}' })];
    const delivery = { configId: id, projectId: app.project.id, method: 'onEvent', events } as const;
    await app.db.transaction().execute((tx) => addDeliveries(tx, [delivery], app.clock.now()));
    const { body, text } = await configs.get('/jobs/?kind=delivery');
    expect(body).toMatchObject({ count: 1, results: [{ type: 'onEvent', state: 'queued', duration_ms: null }] });
    expect(text).not.toContain('hunter2');
  });
});

describe('changing jobs', () => {
  it('a failed job is retried, the log names the user, and twice with one key is once', async () => {
    const configId = await configure({ jobs: ['sync'] });
    const id = await failedJob(configId);
    const revision = await configs.revision();
    const { status, body } = await post(`${id}/retry/`, { 'idempotency-key': 'k1' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, state: 'queued', attempts: 0, error: '', started_at: null, finished_at: null });
    expect((await post(`${id}/retry/`, { 'idempotency-key': 'k1' })).body).toEqual(body);
    const log = await configs.activity(configId);
    expect(log).toHaveLength(1);
    expect(log[0]).toMatchObject({
      activity: 'job_retried',
      is_system: false,
      detail: { changes: [{ field: 'job', before: { id, state: 'failed' }, after: { id, state: 'queued' } }] },
    });
    // The config has not changed: no worker has to reload it.
    expect(await configs.revision()).toBe(revision);
  });

  it('a queued job is cancelled', async () => {
    const id = await add(await configure({ jobs: ['sync'] }));
    const { status, body } = await post(`${id}/cancel`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ state: 'failed', error: 'cancelled before it ran' });
    expect(await claim(configs.app.db, configs.app.clock.now(), 1000)).toBeUndefined();
  });

  it.each([
    ['retry', 'Only a failed job can be retried; this one is queued.'],
    ['cancel', 'Only a queued job can be cancelled; this one is failed.'],
  ])('%s of a job in another state is a conflict that says so', async (action, detail) => {
    const configId = await configure({ jobs: ['sync'] });
    const id = action === 'retry' ? await add(configId) : await failedJob(configId);
    const { status, body } = await post(`${id}/${action}/`);
    expect([status, body]).toMatchObject([409, { code: 'conflict', detail }]);
  });

  it.each(['retry', 'cancel'])('%s of an unknown job is 404', async (action) => {
    expect((await post(`nothing/${action}/`)).status).toBe(404);
  });
});

describe('starting jobs of installed plugins', () => {
  async function startJob(capabilities: object, job?: object): Promise<Answer> {
    const id = await configure(capabilities);
    return configs.call('POST', 'import-app', `/${id}/job/`, job === undefined ? {} : { job });
  }
  const typeOf = async (started: Answer): Promise<unknown> =>
    (await configs.get(`/jobs/${String(started.headers['x-job-id'])}/`)).body['type'];

  it('a scheduled task can be started out of turn, and is the default of an app without `run`', async () => {
    expect(await typeOf(await startJob({ scheduled_tasks: ['runEveryHour'] }, { type: 'runEveryHour' }))).toBe(
      'runEveryHour',
    );
    expect(await typeOf(await startJob({ scheduled_tasks: ['runEveryHour'], jobs: ['sync'] }))).toBe('runEveryHour');
    expect(await typeOf(await startJob({ scheduled_tasks: ['runEveryHour'], jobs: ['run'] }))).toBe('run');
  });

  it('without a default the known ones are named', async () => {
    const { status, body } = await startJob({ jobs: ['sync'] });
    expect(status).toBe(400);
    expect(body).toMatchObject({ detail: 'Unknown job type "run". The jobs of "App" are: sync.', attr: 'job__type' });
  });
});
