/** A scheduled import by the real program: from one project into another, again and again. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../support/command.ts';
import { apiSend, type RunAnswer } from '../support/import-runs.ts';
import { apiGet, personalKey, projectKey, startServer, tempDataDir, untilStored } from '../support/server.ts';

const minuteMs = 60_000;

interface Stored {
  readonly event: string;
}

describe('a scheduled import', { timeout: 180_000 }, () => {
  it('each run brings what is new and what came late, and nothing twice; one without anything new is done', async () => {
    await using dataDir = await tempDataDir();
    const server = await startServer(dataDir.path, { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });
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
    const command = async <T>(...args: readonly string[]): Promise<T> => {
      const env = { MILLRACE_URL: server.url, MILLRACE_API_KEY: personalKey };
      const { code, stdout, stderr } = await runCommand([...args, '--project', String(project), '--json'], { env });
      if (code !== 0) throw new Error(`expected ${args.join(' ')} to go well, got ${code}: ${stderr}`);
      return JSON.parse(stdout) as T;
    };
    const { id: from } = await apiGet<{ id: number }>(server, '/api/projects/@current/');
    const { id: project } = await apiSend<{ id: number }>(server, 'POST', '/api/projects/', { name: 'Copy' });
    const settings = { host: server.url, project_id: String(from), personal_api_key: personalKey };
    const place = ['--plugin', 'posthog', '--settings', JSON.stringify(settings)];
    const { id: config } = await command<{ id: number }>('configs', 'create', ...place);
    const since = new Date(Date.now() - 90 * minuteMs).toISOString();
    await command('schedules', 'set', String(config), '--every', '1d', '--overlap', '30m', '--from', since);

    const runs = `/api/projects/${project}/pipeline_import_apps_configs/${config}/runs`;
    const run = async (): Promise<RunAnswer> => {
      const { id } = await command<RunAnswer>('schedules', 'run', String(config));
      for (let tries = 0; tries < 600; tries += 1) {
        const now = await apiGet<RunAnswer>(server, `${runs}/${id}/`);
        if (!['queued', 'running'].includes(now.state)) return now;
        await delay(100);
      }
      throw new Error('expected the run to end within a minute');
    };
    const copied = async (): Promise<string[]> => {
      const { results } = await apiGet<{ results: Stored[] }>(server, `/api/projects/${project}/events/?limit=100`);
      return results.map(({ event }) => event).toSorted();
    };

    await capture(['before', 95], ['first', 80], ['second', 20]);
    expect(await run()).toMatchObject({ state: 'completed', totals: { records: 2 } });
    expect(await copied()).toEqual(['first', 'second']);

    await capture(['came late', 25], ['third', 0]);
    // "second" lies in the overlap and is read again.
    expect(await run()).toMatchObject({ state: 'completed', totals: { records: 3 } });
    expect(await copied()).toEqual(['came late', 'first', 'second', 'third']);

    await command('schedules', 'set', String(config), '--every', '1d', '--overlap', '0m');
    expect(await run()).toMatchObject({ state: 'completed', totals: { records: 0 } });
    expect(await copied()).toHaveLength(4);
    const [schedule] = await command<object[]>('schedules', 'list', '--output', 'json');
    expect(schedule).toMatchObject({ plugin_config: config, every_minutes: 1440, error: '' });
    await server.terminate();
  });
});
