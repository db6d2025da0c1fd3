import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { isoMicros } from '../../base/clock.ts';
import type { PluginLogLevel } from '../../stores/metadata/tables/plugins.ts';
import { recordErrors } from '../../plugins/services/errors.ts';
import { createPluginLogs } from '../../plugins/services/plugin-logs.ts';
import { addOwnMetrics } from '../../plugins/services/own-metrics.ts';
import { testPlugins } from '../../../test/support/plugin-rows.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { createLog } from '../telemetry/log.ts';
import { pluginConfigViewRoutes } from './plugin-config-view.ts';

// Real: HTTP server, keys and scopes, metadata (SQLite), the log as workers write it.
type Body = Readonly<Record<string, unknown>>;
interface Line {
  readonly message: string;
  readonly level: string;
}

let app: TestApp;
let key: string;
let configId: number;
let otherId: number;
let importId: number;

async function get(path: string, id = configId, family = 'transformation'): Promise<{ status: number; body: Body }> {
  const url = path.startsWith('http')
    ? path.replace(/^https?:\/\/[^/]+/, '')
    : `/api/projects/${app.project.id}/pipeline_${family}_configs/${id}/${path}`;
  const answer = await app.inject({ method: 'GET', url, headers: { authorization: `Bearer ${key}` } });
  return { status: answer.statusCode, body: answer.json() };
}

async function messages(query: string, id = configId): Promise<string[]> {
  const { body } = await get(`logs/?${query}`, id);
  return (body['results'] as Line[]).map(({ message }) => message);
}

async function addConfig(kind: 'transformation' | 'import-app', position: number): Promise<number> {
  const plugin = await app.db.selectFrom('plugins').select('id').where('kind', '=', kind).executeTakeFirstOrThrow();
  const time = '2026-11-20T10:00:00.000000Z';
  const { id } = await app.db
    .insertInto('plugin_configs')
    .values({
      project_id: app.project.id,
      plugin_id: plugin.id,
      family: kind,
      enabled: 1,
      position,
      name: '',
      description: '',
      deleted: 0,
      settings: '{}',
      error: '',
      created_at: time,
      updated_at: time,
      plugin_version_id: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

beforeAll(async () => {
  app = await startTestApp((db, { clock }) => pluginConfigViewRoutes({ db, clock }));
  key = await app.key(['plugin:read']);
  await syncPlugins(app.db, testPlugins, app.clock.now());
  configId = await addConfig('transformation', 0);
  otherId = await addConfig('transformation', 1);
  importId = await addConfig('import-app', 0);
  const logs = createPluginLogs(app.db, { days: 7, clock: app.clock, log: createLog('silent') });
  const levels: readonly PluginLogLevel[] = ['DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR'];
  for (const [index, level] of levels.entries()) {
    app.clock.advance(1000);
    const source = level === 'ERROR' ? 'PLUGIN' : 'CONSOLE';
    const line = { time: app.clock.now(), level, source, message: `Line ${index}: 100%`, instanceId: 'i' } as const;
    logs.add(configId, app.project.id, line);
    logs.add(otherId, app.project.id, { ...line, message: 'of another' });
    logs.add(importId, app.project.id, { ...line, message: 'of an import' });
  }
  await logs.close();
});
afterAll(() => app[Symbol.asyncDispose]());

describe('the log of a config', () => {
  it('is shown newest first, of this config alone', async () => {
    const { status, body } = await get('logs/');
    expect(status).toBe(200);
    expect(body).toMatchObject({ next: null, previous: null });
    const lines = body['results'] as Line[];
    expect(lines.map(({ message }) => message)).toEqual([4, 3, 2, 1, 0].map((n) => `Line ${n}: 100%`));
    expect(lines[0]).toEqual({
      id: expect.any(String),
      timestamp: '2026-11-20T10:00:05.000000Z',
      level: 'ERROR',
      source: 'PLUGIN',
      message: 'Line 4: 100%',
      instance_id: 'i',
    });
    expect((await get('logs/', importId, 'import_apps')).body['results']).toMatchObject([
      { message: 'of an import' },
      {},
      {},
      {},
      {},
    ]);
  });

  it.each<[string, number[]]>([
    ['level=ERROR', [4]],
    ['level=warn,error', [4, 3]],
    ['source=PLUGIN', [4]],
    ['source=console,plugin&level=INFO', [2]],
    ['search=line 3', [3]],
    ['search=100%25&limit=1', [4]],
    ['search=1__', []],
    ['after=2026-11-20T10:00:04Z', [4, 3]],
    ['before=2026-11-20T10:00:02Z', [0]],
    ['after=2026-11-20T10:00:02Z&before=2026-11-20T10:00:04Z', [2, 1]],
  ])('%s', async (query, expected) => {
    expect(await messages(query)).toEqual(expected.map((n) => `Line ${n}: 100%`));
  });

  it('leads from page to page, filters kept, to the end', async () => {
    const seen: string[] = [];
    let url: string | null = 'logs/?limit=2&level=LOG,INFO,WARN,ERROR';
    let pages = 0;
    while (url !== null) {
      const { body } = await get(url);
      seen.push(...(body['results'] as Line[]).map(({ level }) => level));
      url = body['next'] as string | null;
      pages += 1;
    }
    expect([seen, pages]).toEqual([['ERROR', 'WARN', 'INFO', 'LOG'], 2]);
  });

  it.each([
    ['level=LOUD', 'level', 'Expected some of DEBUG, LOG, INFO, WARN, ERROR, got: LOUD'],
    ['source=x', 'source', 'Expected some of CONSOLE, PLUGIN, SYSTEM, got: x'],
    ['after=soon', 'after', 'Expected an ISO 8601 time'],
    ['cursor=x', 'cursor', 'Expected a cursor'],
    ['limit=0', 'limit', ''],
  ])('refuses %s', async (query, attr, detail) => {
    const { status, body } = await get(`logs/?${query}`);
    expect([status, body['attr']]).toEqual([400, attr]);
    expect(body['detail']).toContain(detail);
  });

  it.each(['logs/', 'metrics/', 'errors/'])('and all else is not found where the config is not: %s', async (path) => {
    expect((await get(path, 999)).status).toBe(404);
    expect((await get(path, importId)).status).toBe(404);
  });
});

describe('the metrics of a config', () => {
  const counts = { succeeded: 0, failed: 0, dropped: 0, skipped: 0, time_ms: 0 };

  beforeAll(async () => {
    const hour = (n: number): string => `2026-11-${n < 10 ? '20' : '19'}T${String(n).padStart(2, '0')}:00:00.000000Z`;
    const of = { config_id: configId, project_id: app.project.id };
    const row = (n: number, more: object) => ({
      ...of,
      hour: hour(n),
      succeeded: 0,
      failed: 0,
      dropped: 0,
      skipped: 0,
      micros: 0,
      ...more,
    });
    await app.db
      .insertInto('plugin_metrics')
      .values([
        row(9, { succeeded: 5, micros: 1500 }),
        row(8, { failed: 2, dropped: 3, skipped: 4 }),
        row(11, { succeeded: 100 }),
        row(7, { succeeded: 1000, config_id: otherId }),
      ])
      .execute();
    const own = (n: number, name: string, kind: 'sum' | 'max', value: number) => ({
      configId,
      projectId: app.project.id,
      hour: hour(n),
      name,
      kind,
      value,
    });
    await addOwnMetrics(app.db, [
      own(8, 'seen', 'sum', 2),
      own(9, 'seen', 'sum', 3),
      own(8, 'size', 'max', 7),
      own(9, 'size', 'max', 5),
    ]);
  });

  it('come by hour for the last day, with every hour and totals', async () => {
    const { status, body } = await get('metrics/');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      date_from: '2026-11-19T10:00:00.000000Z',
      interval: 'hour',
      totals: { succeeded: 105, failed: 2, dropped: 3, skipped: 4, time_ms: 1.5 },
    });
    const series = body['series'] as Body[];
    expect(series).toHaveLength(25);
    expect(series[0]).toEqual({ time: '2026-11-19T10:00:00.000000Z', ...counts });
    expect(series.at(-1)).toEqual({ time: '2026-11-20T10:00:00.000000Z', ...counts });
    expect(series.at(-2)).toEqual({ time: '2026-11-20T09:00:00.000000Z', ...counts, succeeded: 5, time_ms: 1.5 });
    expect(body['own']).toEqual([
      {
        name: 'seen',
        kind: 'sum',
        total: 5,
        series: [
          { time: '2026-11-20T08:00:00.000000Z', value: 2 },
          { time: '2026-11-20T09:00:00.000000Z', value: 3 },
        ],
      },
      expect.objectContaining({ name: 'size', kind: 'max', total: 7 }),
    ]);
  });

  it('come by day, in the range asked for', async () => {
    const { body } = await get('metrics/?interval=day&date_from=2026-11-19&date_to=2026-11-21');
    expect((body['series'] as Body[]).map((each) => [each['time'], each['succeeded']])).toEqual([
      ['2026-11-19T00:00:00.000000Z', 100],
      ['2026-11-20T00:00:00.000000Z', 5],
    ]);
    expect(body['own']).toMatchObject([
      { name: 'seen', series: [{ time: '2026-11-20T00:00:00.000000Z', value: 5 }] },
      { name: 'size', series: [{ value: 7 }] },
    ]);
    const early = await get('metrics/?date_from=2026-11-19T11:30:00Z&date_to=2026-11-19T12:00:00Z');
    expect(early.body).toMatchObject({ totals: { succeeded: 100 }, series: [{ time: '2026-11-19T11:00:00.000000Z' }] });
  });

  it('come for all configs of a family at once, those through which nothing passed too', async () => {
    const url = `/api/projects/${app.project.id}/pipeline_transformation_configs/metrics/`;
    const { status, body } = await get(`http://here${url}`);
    expect(status).toBe(200);
    const times = body['times'] as string[];
    expect([times.length, times[0]]).toEqual([25, '2026-11-19T10:00:00.000000Z']);
    const results = body['results'] as (Body & { readonly plugin_config: number })[];
    expect(results.map((each) => each.plugin_config)).toEqual([configId, otherId]);
    expect(results[0]).toMatchObject({ totals: { succeeded: 105, failed: 2, dropped: 3, skipped: 4, time_ms: 1.5 } });
    const succeeded = (results[0]?.['succeeded'] ?? []) as number[];
    const passed = succeeded.map((count, at) => [times[at]?.slice(11, 13), count]);
    expect(passed.filter(([, count]) => count !== 0)).toEqual([
      ['11', 100],
      ['09', 5],
    ]);
    expect(results[1]).toMatchObject({ totals: { succeeded: 1000, failed: 0 } });
    const apps = await get(`http://here${url.replace('transformation', 'import_apps')}`);
    expect(apps.body['results']).toMatchObject([{ plugin_config: importId, totals: counts }]);
    expect((await get(`http://here${url}?date_from=2026-01-01`)).body['attr']).toBe('date_from');
  });

  it.each([
    ['date_from=2026-11-20&date_to=2026-11-19', 'date_from', 'Expected a time before date_to.'],
    ['date_from=2000-01-01', 'date_from', 'Expected a range of at most'],
    ['date_to=soon', 'date_to', 'Expected an ISO 8601 time'],
    ['interval=week', 'interval', ''],
  ])('refuse %s', async (query, attr, detail) => {
    const { status, body } = await get(`metrics/?${query}`);
    expect([status, body['attr']]).toEqual([400, attr]);
    expect(body['detail']).toContain(detail);
  });
});

describe('the failures of a config', () => {
  it('are grouped by kind, with samples; events are only shown with permission to read them', async () => {
    const failure = (n: number, more: object = {}) => ({
      configId,
      projectId: app.project.id,
      method: 'processEvent',
      name: 'TypeError',
      message: `no ${n}`,
      stack: 'at processEvent (index.js:1:2)',
      event: { event: 'sign up', n },
      time: app.clock.now() + n,
      ...more,
    });
    await recordErrors(app.db, [failure(1), failure(2), failure(3, { message: 'else', method: 'setupPlugin' })]);
    await recordErrors(app.db, [failure(9, { configId: otherId })]);
    const { status, body } = await get('errors/');
    expect(status).toBe(200);
    expect(body['results']).toMatchObject([
      { method: 'setupPlugin', message: 'else', count: 1 },
      {
        id: expect.any(String),
        method: 'processEvent',
        name: 'TypeError',
        message: 'no 2',
        stack: 'at processEvent (index.js:1:2)',
        count: 2,
        first_seen: isoMicros(app.clock.now() + 1),
        last_seen: isoMicros(app.clock.now() + 2),
        samples: [
          { message: 'no 2', event: null },
          { message: 'no 1', event: null },
        ],
      },
    ]);
    const url = `/api/projects/${app.project.id}/pipeline_transformation_configs/${configId}/errors/`;
    const bearer = await app.key(['plugin:read', 'query:read']);
    const answer = await app.inject({ method: 'GET', url, headers: { authorization: `Bearer ${bearer}` } });
    expect(answer.json()).toMatchObject({ results: [{}, { samples: [{ event: { event: 'sign up', n: 2 } }, {}] }] });
  });
});
