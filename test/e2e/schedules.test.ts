/** Scheduled imports by the real program, again and again, from sources of three kinds. Doubled: the export API of Mixpanel. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnCommand } from '../support/command.ts';
import { startExportServer } from '../support/export-server.ts';
import { apiSend, type RunAnswer } from '../support/import-runs.ts';
import { startPostgresServer } from '../support/postgres-source.ts';
import {
  apiGet,
  personalKey,
  projectKey,
  startServer,
  tempDataDir,
  untilStored,
  type TestServer,
} from '../support/server.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

interface Stored {
  readonly event: string;
}

/** A separate project with a config that runs on a schedule. */
interface Scheduled {
  /** Sets the schedule, which becomes due by itself tomorrow at the earliest. */
  set(...options: readonly string[]): Promise<void>;
  /** The next run, to its end. */
  run(): Promise<RunAnswer & { readonly totals: { readonly records: number } }>;
  /** Names of the events that the project has. */
  stored(): Promise<string[]>;
  schedules(): Promise<readonly object[]>;
  readonly config: number;
}

describe('a scheduled import', { timeout: 180_000 }, () => {
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
  let server: TestServer;
  beforeAll(async () => {
    dataDir = await tempDataDir();
    server = await startServer(dataDir.path, { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });
  });
  afterAll(async () => {
    await server?.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  async function schedule(plugin: string, settings: object): Promise<Scheduled> {
    const { id: project } = await apiSend<{ id: number }>(server, 'POST', '/api/projects/', { name: plugin });
    const command = async <T>(...args: readonly string[]): Promise<T> => {
      const env = { MILLRACE_URL: server.url, MILLRACE_API_KEY: personalKey };
      const { code, stdout, stderr } = await spawnCommand([...args, '--project', String(project), '--json'], { env });
      if (code !== 0) throw new Error(`expected ${args.join(' ')} to go well, got ${code}: ${stderr}`);
      return JSON.parse(stdout) as T;
    };
    const place = ['--plugin', plugin, '--settings', JSON.stringify(settings)];
    const { id: config } = await command<{ id: number }>('configs', 'create', ...place);
    const runs = `/api/projects/${project}/pipeline_import_apps_configs/${config}/runs`;
    return {
      config,
      set: async (...options) => void (await command('schedules', 'set', String(config), '--every', '1d', ...options)),
      schedules: () => command('schedules', 'list', '--output', 'json'),
      async run() {
        const { id } = await command<RunAnswer>('schedules', 'run', String(config));
        for (let tries = 0; tries < 600; tries += 1) {
          const now = await apiGet<Awaited<ReturnType<Scheduled['run']>>>(server, `${runs}/${id}/`);
          if (!['queued', 'running'].includes(now.state)) return now;
          await delay(100);
        }
        throw new Error('expected the run to end within a minute');
      },
      async stored() {
        const { results } = await apiGet<{ results: Stored[] }>(server, `/api/projects/${project}/events/?limit=100`);
        return results.map(({ event }) => event).toSorted();
      },
    };
  }

  it('each run imports new and late events, and none twice; one without new events completes', async () => {
    let stored = 0;
    const capture = async (...events: readonly (readonly [name: string, minutesAgo: number])[]): Promise<void> => {
      const batch = events.map(([event, minutesAgo]) => ({
        event,
        distinct_id: 'ada',
        timestamp: new Date(Date.now() - minutesAgo * minuteMs).toISOString(),
      }));
      const body = JSON.stringify({ api_key: projectKey, batch });
      const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body });
      expect(answer.status).toBe(200);
      stored += events.length;
      await untilStored(server, { standard: stored, historical: 0 });
    };
    const { id: from } = await apiGet<{ id: number }>(server, '/api/projects/@current/');
    const settings = { host: server.url, project_id: String(from), personal_api_key: personalKey };
    const copy = await schedule('posthog', settings);
    await copy.set('--overlap', '30m', '--from', new Date(Date.now() - 90 * minuteMs).toISOString());

    await capture(['before', 95], ['first', 80], ['second', 20]);
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 2 } });
    expect(await copy.stored()).toEqual(['first', 'second']);

    await capture(['came late', 25], ['third', 0]);
    // "second" lies in the overlap and is read again.
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 3 } });
    expect(await copy.stored()).toEqual(['came late', 'first', 'second', 'third']);

    await copy.set('--overlap', '0m');
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 0 } });
    expect(await copy.stored()).toHaveLength(4);
    const [shown] = await copy.schedules();
    expect(shown).toMatchObject({ plugin_config: copy.config, every_minutes: 1440, error: '' });
  });

  it('of Mixpanel requests the days that the window overlaps, and stores their new events', async () => {
    const shelves = new Map<string, string[]>();
    const profiles: object[] = [];
    const put = (event: string, daysAgo: number, id?: string): void => {
      const time = Math.floor((Date.now() - daysAgo * dayMs) / 1000);
      const properties = { distinct_id: 'ada', time, ...(id !== undefined && { $insert_id: id }) };
      const day = new Date(time * 1000).toISOString().slice(0, 10);
      shelves.set(day, [...(shelves.get(day) ?? []), JSON.stringify({ event, properties })]);
    };
    await using mixpanel = await startExportServer(({ path, query }) => {
      if (path === '/api/2.0/export') return { lines: shelves.get(query.get('from_date') ?? '') ?? [] };
      const results = profiles;
      return { json: { page: 0, page_size: 100, session_id: 's', total: results.length, results } };
    });
    const asked = (): Set<string> =>
      new Set(
        mixpanel.asked.flatMap(({ path, query }) => (path.endsWith('export') ? [query.get('from_date') ?? ''] : [])),
      );
    const account = { service_account: 'import.mp-service-account', service_secret: 's3cret', project_id: '7' };
    const copy = await schedule('mixpanel', { ...account, base_url: mixpanel.url });
    await copy.set('--overlap', '2d', '--from', new Date(Date.now() - 9 * dayMs).toISOString());

    put('long ago', 8, 'a');
    put('yesterday', 1, 'b');
    // Two that nothing tells apart are two.
    for (const _ of [1, 2]) put('twin', 1);
    profiles.push({
      $distinct_id: 'ada',
      $properties: { $email: 'ada@example.com', $last_seen: '2026-01-01T00:00:00' },
    });
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 5, rejected: 0 } });
    expect(await copy.stored()).toEqual(['$set', 'long ago', 'twin', 'twin', 'yesterday']);
    expect(asked().size).toBe(10);

    mixpanel.asked.splice(0);
    put('came late', 1, 'c');
    put('now', 0, 'd');
    profiles.push({ $distinct_id: 'bob', $properties: { $last_seen: '2026-01-02T00:00:00' } });
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 7, rejected: 0 } });
    expect(await copy.stored()).toEqual(['$set', '$set', 'came late', 'long ago', 'now', 'twin', 'twin', 'yesterday']);
    // Today, and two days before it.
    expect(asked().size).toBe(3);

    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 7 } });
    expect(await copy.stored()).toHaveLength(8);
  });

  it('of PostgreSQL reads the rows of the window, late ones, and none twice', async () => {
    await using postgres = await startPostgresServer();
    await postgres.db.exec('create table orders (id bigint, kind text, customer text, at timestamptz)');
    const insert = async (kind: string, minutesAgo: number, id = 0): Promise<unknown> =>
      postgres.db.query('insert into orders values ($1, $2, $3, $4)', [
        id,
        kind,
        'ada',
        new Date(Date.now() - minutesAgo * minuteMs).toISOString(),
      ]);
    const mapping = { event: 'kind', distinct_id: 'customer', timestamp: { path: 'at', format: 'iso' } };
    const place = {
      host: '127.0.0.1',
      port: String(postgres.port),
      database: 'postgres',
      user: 'postgres',
      tls: 'off',
    };
    const reading = { password: 'secret', query: 'select * from orders', cursor_column: 'at' };
    const format = { format: 'mapping', format_options: { mapping } };
    const copy = await schedule('postgres', { ...place, ...reading, ...format });
    await copy.set('--overlap', '30m', '--from', new Date(Date.now() - 90 * minuteMs).toISOString());

    // Nothing at all is no fault either.
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 0 } });
    await copy.set('--overlap', '30m', '--from', new Date(Date.now() - 90 * minuteMs).toISOString());
    await insert('too old', 95, 1);
    await insert('first', 80, 2);
    await insert('second', 20, 3);
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 2 } });
    expect(await copy.stored()).toEqual(['first', 'second']);

    await insert('came late', 25, 4);
    await insert('too late', 60, 5);
    await insert('third', 0, 6);
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 3 } });
    expect(await copy.stored()).toEqual(['came late', 'first', 'second', 'third']);
    expect(await copy.run()).toMatchObject({ state: 'completed', totals: { records: 3 } });
    expect(await copy.stored()).toHaveLength(4);
  });
});
