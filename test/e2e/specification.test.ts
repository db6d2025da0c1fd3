/** Every operation of the specification as a person types it: curl, both families, the published form body under a JSON content type. */
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiGet, personalKey, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const run = promisify(execFile);
const hasCurl = spawnSync('curl', ['--version']).status === 0;

const recordKeys = [
  'id',
  'plugin',
  'enabled',
  'order',
  'config',
  'error',
  'team_id',
  'plugin_info',
  'delivery_rate_24h',
  'created_at',
  'updated_at',
  'name',
  'description',
  'deleted',
];

interface CurlAnswer {
  readonly status: number;
  readonly json: unknown;
}

async function curl(...args: readonly string[]): Promise<CurlAnswer> {
  const { stdout } = await run('curl', ['-sS', '-w', '\n%{http_code}', ...args]);
  const cut = stdout.lastIndexOf('\n');
  const body = stdout.slice(0, cut);
  return { status: Number(stdout.slice(cut + 1)), json: body === '' ? undefined : JSON.parse(body) };
}

describe.skipIf(!hasCurl)('the specification as curl', () => {
  let server: TestServer;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
  let projectId: number;
  const bearer = ['-H', `Authorization: Bearer ${personalKey}`];
  const asJson = ['-H', 'Content-Type: application/json'];

  beforeAll(async () => {
    dataDir = await tempDataDir();
    server = await startServer(dataDir.path);
    const projects = await apiGet<{ results: { id: number }[] }>(server, '/api/projects/');
    projectId = projects.results[0]?.id ?? 0;
  });
  afterAll(async () => {
    await server.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  async function pluginOf(family: string): Promise<number> {
    const plugins = await apiGet<{ results: { id: number; slug: string }[] }>(
      server,
      `/api/projects/${projectId}/plugins/`,
    );
    const slug = family === 'pipeline_import_apps_configs' ? 'sample-events' : 'drop-events';
    return plugins.results.find((plugin) => plugin.slug === slug)?.id ?? 0;
  }

  function expectRecord(json: unknown): { id: number; order: number } {
    const record = json as Record<string, unknown>;
    expect(Object.keys(record)).toEqual(recordKeys);
    for (const key of ['config', 'error', 'plugin_info', 'delivery_rate_24h', 'name', 'description']) {
      expect(typeof record[key]).toBe('string');
    }
    return record as { id: number; order: number };
  }

  describe.each(['pipeline_import_apps_configs', 'pipeline_transformation_configs'])('%s', (family) => {
    it.each(['', '/'])('every operation works with "%s" at the end of its path', async (slash) => {
      const plugin = await pluginOf(family);
      const base = `${server.url}/api/projects/${projectId}/${family}`;
      const form = ['-d', `plugin=${plugin}&order=0`];

      const created = await curl(
        '-X',
        'POST',
        base + slash,
        ...bearer,
        ...asJson,
        '-d',
        `plugin=${plugin}`,
        '-d',
        'order=0',
      );
      expect(created.status).toBe(201);
      const { id } = expectRecord(created.json);

      const listed = await curl(`${base}${slash}?limit=1&offset=0`, ...bearer);
      expect(listed.status).toBe(200);
      expect(Object.keys(listed.json as object)).toEqual(['count', 'next', 'previous', 'results']);
      expectRecord((listed.json as { results: unknown[] }).results[0]);

      for (const path of ['', '/activity', '/frontend']) {
        const read = await curl(`${base}/${id}${path}${slash}`, ...bearer);
        expect(read.status).toBe(200);
        expect(expectRecord(read.json).id).toBe(id);
      }
      const updated = await curl('-X', 'PATCH', `${base}/${id}${slash}`, ...bearer, ...asJson, ...form);
      expect(updated.status).toBe(200);
      expectRecord(updated.json);

      const job = await curl('-X', 'POST', `${base}/${id}/job${slash}`, ...bearer, ...asJson, ...form);
      expect(job.status).toBe(200);
      expectRecord(job.json);

      const moved = await curl('-X', 'PATCH', `${base}/rearrange${slash}`, ...bearer, ...asJson, ...form);
      expect(moved.status).toBe(200);
      expect(expectRecord(moved.json).order).toBe(0);

      const deleted = await curl('-X', 'DELETE', `${base}/${id}${slash}`, ...bearer);
      expect(deleted).toEqual({ status: 204, json: undefined });
      expect((await curl(`${base}/${id}${slash}`, ...bearer)).status).toBe(404);
    });
  });

  it('a historical batch with page views, user and group updates is accepted and marked as historical', async () => {
    const body = {
      api_key: projectKey,
      historical_migration: true,
      batch: [
        {
          event: '$pageview',
          properties: { distinct_id: 'user-1', $current_url: 'https://example.com' },
          timestamp: '2024-04-01T10:00:00.000Z',
        },
        {
          event: '$identify',
          properties: { distinct_id: 'user-1', $set: { name: 'Ada' } },
          timestamp: '2024-04-01T10:00:01.000Z',
        },
        {
          event: '$group_identify',
          properties: { distinct_id: 'user-1', $group_type: 'company', $group_key: 'acme', $group_set: { size: 3 } },
          timestamp: '2024-04-01T10:00:02.000Z',
        },
      ],
    };
    const sent = await curl(`${server.url}/batch/`, ...asJson, '-d', JSON.stringify(body));
    expect(sent).toEqual({ status: 200, json: { status: 'Ok' } });
    // By their person: the import app of the test before may still be at work.
    const stored = () =>
      apiGet<{ results: { event: string }[] }>(
        server,
        '/api/projects/@current/events/?distinct_id=user-1&historical_migration=true&after=2024-04-01&before=2024-04-02',
      ).then(({ results }) => results.map(({ event }) => event).toSorted());
    await expect.poll(stored).toEqual(['$group_identify', '$identify', '$pageview']);
    const group = await apiGet<{ group_properties: object }>(
      server,
      '/api/projects/@current/groups/find/?group_type_index=0&group_key=acme',
    );
    expect(group.group_properties).toEqual({ size: 3 });
  });
});
