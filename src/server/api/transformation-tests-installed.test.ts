import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { loadSettings } from '../config/load.ts';
import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import { createProgramLoader } from '../../plugins/packages/program-loader.ts';
import { createStorage } from '../../plugins/services/storage.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { createSandbox, type IsolatedSandbox } from '../../plugins/sandbox/create-sandbox.ts';
import { createLog } from '../telemetry/log.ts';
import { serviceTrialDeps } from '../../pipeline/transform/trial-deps.ts';
import { transformationTestRoutes } from './transformation-tests.ts';

// Real: HTTP server, metadata (SQLite), and the sandbox that the plugin runs in.
const code = `
exports.setupPlugin = ({ config }) => console.info('ready with', config.token);
exports.processEvent = async (event, { storage, config, jobs }) => {
  const count = (await storage.get('count', 0)) + 1;
  await storage.set('count', count);
  if (event.event === 'fail') throw new RangeError('no ' + config.token);
  for (let n = 0; event.event === 'flood' && n < 9; n++) {
    try { await posthog.capture('big', { text: 'x'.repeat(8e6) }); } catch (error) { event.properties['try ' + n] = error.message; }
  }
  posthog.capture('counted', { count });
  await jobs.later({ count }).runIn(1, 'hour');
  event.properties.count = count;
  return event;
};
exports.jobs = { later: () => {} };`;
const fields = [{ key: 'token', name: 'Token', type: 'string', secret: true }];
const down = async (): Promise<never> => {
  throw new StoreUnavailableError('expected no request to get this far');
};

let app: TestApp;
let sandbox: IsolatedSandbox;
let key: string;
let configId: number;

async function call(path: string, payload: object): Promise<Readonly<Record<string, unknown>>> {
  const url = `/api/projects/${app.project.id}/pipeline_transformation_configs/${path}`;
  const headers = { authorization: `Bearer ${key}` };
  const answer = await app.inject({ method: 'POST', url, headers, payload });
  expect(answer.json()).not.toHaveProperty('code');
  return answer.json();
}

const testing = (payload: object) => call(`${configId}/test/`, payload);
const test = (event: object) => testing({ event });

beforeAll(async () => {
  const { settings } = loadSettings({ env: {} });
  sandbox = createSandbox({
    memoryBytesMax: settings.sandboxMemoryBytesMax,
    processBytesMax: settings.sandboxProcessBytesMax,
    // Large texts take their time on a busy machine, and how long is not what is looked at here.
    cpuMs: 20_000,
    waitMs: 60_000,
    taskMs: settings.sandboxTaskMs,
    instancesMax: settings.sandboxInstancesMax,
    idleMs: settings.sandboxIdleMs,
    outbound: { allow: '', timeoutMs: 1000, bytesMax: 1000 },
    geoipDatabase: '',
    log: createLog('silent'),
  });
  app = await startTestApp((db, { clock }) =>
    transformationTestRoutes({
      db,
      clock,
      store: {
        insertBatch: down,
        deleteRun: down,
        erase: down,
        removeExpired: down,
        query: down,
        waitForReplicas: down,
        health: down,
        close: down,
      },
      packages: { fetch: down, npmRegistry: '', sandbox },
      trials: serviceTrialDeps(db, {
        findPlugin: () => undefined,
        sandbox,
        loadProgram: createProgramLoader(db),
        fetch: testHost().fetch,
        geoip: { geoip: undefined, geoipProblem: '' },
        taskMs: settings.sandboxTaskMs,
        now: () => clock.now(),
      }),
    }),
  );
  key = await app.key(['plugin:write']);
  configId = await addConfig('counter', ['setupPlugin', 'processEvent'], 0);
  await createStorage(app.db, { configId, projectId: app.project.id }).set('count', 5);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await sandbox.close();
});

async function addConfig(slug: string, methods: readonly string[], enabled: 0 | 1): Promise<number> {
  const time = '2026-11-20T10:00:00.000000Z';
  const capabilities = JSON.stringify({ methods, scheduled_tasks: [], jobs: [] });
  const schema = { config_schema: JSON.stringify(fields), capabilities, public_jobs: '{}' };
  const about = { slug, kind: 'transformation', name: 'Counter', description: '', url: null };
  const { id: pluginId } = await app.db
    .insertInto('plugins')
    .values({ ...about, ...schema, organization_id: null, version: '1', created_at: time, updated_at: time })
    .returning('id')
    .executeTakeFirstOrThrow();
  const source = {
    source_kind: 'source',
    source_url: null,
    files: '{}',
    code,
    frontend: null,
    sha256: '',
    metrics: '{}',
  };
  const { id: versionId } = await app.db
    .insertInto('plugin_versions')
    .values({ ...source, ...schema, plugin_id: pluginId, version: '1', created_at: time, created_by: null })
    .returning('id')
    .executeTakeFirstOrThrow();
  const own = {
    name: '',
    description: '',
    deleted: 0,
    settings: '{"token":"s3cret"}',
    error: '',
    enabled,
    position: 0,
  };
  const { id } = await app.db
    .insertInto('plugin_configs')
    .values({
      ...own,
      project_id: app.project.id,
      plugin_id: pluginId,
      plugin_version_id: versionId,
      family: 'transformation',
      created_at: time,
      updated_at: time,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

describe('testing an installed plugin', () => {
  it('four at once that capture 8 MB again and again may hand it over once, and get answers of 4 MB at most, which say what is missing', async () => {
    const flood = { event: 'flood', distinct_id: 'ann' };
    const answers = await Promise.all([flood, flood, flood, flood].map(test));
    for (const answer of answers) {
      expect(JSON.stringify(answer).length).toBeLessThan(4_100_000);
      expect(answer).toMatchObject({ outcome: 'kept', truncated: ['captured'], captured: [{ event: 'counted' }] });
      const { properties } = answer['after'] as { properties: object };
      expect(properties).toMatchObject({ 'try 0': expect.stringContaining('shows at most 4 MB') });
      for (let n = 1; n < 9; n += 1) {
        expect(properties).toMatchObject({ [`try ${n}`]: expect.stringContaining('pass at most 12500000 characters') });
      }
    }
  });

  it('runs it in the sandbox on what it has stored, and shows what it would store, capture and start', async () => {
    const answer = await test({ event: 'seen', distinct_id: 'ann' });
    expect(answer).toMatchObject({
      outcome: 'kept',
      error: null,
      diff: [{ path: '/properties/count', op: 'add', after: 6 }],
      after: { properties: { count: 6, $plugins_succeeded: [`Counter (${configId})`] } },
      storage: { count: 6 },
      captured: [{ event: 'counted', properties: { count: 6 } }],
      jobs: [{ name: 'later', payload: { count: 6 } }],
      logs: [{ level: 'INFO', source: 'CONSOLE' }],
    });
    expect(JSON.stringify(answer)).not.toContain('s3cret');
  });

  it('shows where it failed, without the secret', async () => {
    const answer = await test({ event: 'fail', distinct_id: 'ann' });
    expect(answer).toMatchObject({ outcome: 'failed', error: { name: 'RangeError' }, diff: [] });
    const { message, stack } = answer['error'] as { message: string; stack: string };
    expect(message).toMatch(/^no \*+ POSTHOG SECRET FIELD \*+$/);
    expect(stack).toContain('processEvent');
    expect(JSON.stringify(answer)).not.toContain('s3cret');
  });

  it('with code that is not saved runs that code with the stored settings, but without the stored secrets', async () => {
    const files = {
      'plugin.json': JSON.stringify({ name: 'Mine', config: [{ key: 'token', type: 'string' }, { key: 'word' }] }),
      'index.ts': `export function processEvent(event: any, { config }: any) {
        return { ...event, properties: { ...event.properties, word: config.word, told: 'it is ' + config.token } };
      }`,
    };
    const answer = await testing({ event: { event: 'seen', distinct_id: 'ann' }, files, settings: { word: 'new' } });
    expect(answer).toMatchObject({ outcome: 'kept', error: null, after: { properties: { word: 'new' } } });
    expect(JSON.stringify(answer)).not.toContain('s3cret');
    expect(answer).toMatchObject({ after: { properties: { told: 'it is undefined' } } });
    const given = await testing({
      event: { event: 'seen', distinct_id: 'ann' },
      files,
      settings: { token: 'own-token' },
    });
    expect(JSON.stringify(given)).toContain('it is ***');
    const versions = await app.db.selectFrom('plugin_versions').select('id').execute();
    const chain = await call('test/', {
      event: { event: 'seen', distinct_id: 'ann' },
      steps: [{ files, settings: { word: 'a' } }, { config_id: configId }, { files, settings: { word: 'b' } }],
    });
    expect(chain).toMatchObject({
      after: { properties: { word: 'b', count: 6, told: expect.stringContaining('it is') } },
      steps: [
        {
          index: 0,
          config_id: null,
          name: 'Mine',
          diff: expect.arrayContaining([{ path: '/properties/word', op: 'add', after: 'a' }]),
        },
        { index: 1, config_id: configId, name: 'Counter' },
        { index: 2, config_id: null, name: 'Mine' },
      ],
    });
    expect(await app.db.selectFrom('plugin_versions').select('id').execute()).toEqual(versions);
  });

  it('makes the requests of a plugin, or refuses them where that is asked for', async () => {
    const files = {
      'index.js': `exports.processEvent = async (event) => {
        event.properties.answer = await fetch('http://127.0.0.1:9/secret-path').catch((error) => String(error.message));
        return event;
      };`,
    };
    const event = { event: 'seen', distinct_id: 'ann' };
    const refused = await testing({ event, files, requests: 'refused' });
    expect(refused).toMatchObject({
      after: {
        properties: { answer: expect.stringContaining('GET http://127.0.0.1:9: this test sends no requests') },
      },
    });
    const real = await testing({ event, files });
    // It was looked at where it goes.
    expect(real).toMatchObject({ after: { properties: { answer: expect.stringContaining('127.0.0.1') } } });
    expect(JSON.stringify(real)).not.toContain('this test sends no requests');
  });

  it('that only looks on is no part of the chain, and a test of it alone sends nothing', async () => {
    const onlooker = await addConfig('onlooker', ['onEvent'], 1);
    const event = { event: 'seen', distinct_id: 'ann' };
    expect(await call('test/', { event })).toMatchObject({ outcome: 'kept', steps: [] });
    expect(await call(`${onlooker}/test/`, { event })).toMatchObject({
      outcome: 'skipped',
      error: { message: expect.stringContaining('a test would send them') },
    });
  });

  it('leaves nothing behind: storage is as it was, no event came in, no job was started', async () => {
    await test({ event: 'seen', distinct_id: 'ann' });
    expect(await createStorage(app.db, { configId, projectId: app.project.id }).get('count')).toBe(5);
    for (const table of ['jobs', 'plugin_logs', 'plugin_errors', 'plugin_metrics'] as const) {
      expect(await app.db.selectFrom(table).selectAll().execute()).toEqual([]);
    }
  });
});
