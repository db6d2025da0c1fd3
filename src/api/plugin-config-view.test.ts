import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../test/support/app.ts';
import type { PluginLogLevel } from '../metadata/database.ts';
import { createPluginLogs } from '../plugin-services/logs.ts';
import { testPlugins } from '../plugin-configs/test-plugins.ts';
import { syncPlugins } from '../plugins/sync-plugins.ts';
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

  it.each(['logs/'])('is not found where the config is not: %s', async (path) => {
    expect((await get(path, 999)).status).toBe(404);
    expect((await get(path, importId)).status).toBe(404);
  });
});
