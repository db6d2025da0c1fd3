import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ImportRunRecord, ImportRunsRecord } from '../../src/wire/contract/import-runs.ts';
import { spawnCommand } from '../support/command.ts';
import { count, mixpanelLines, newImport, resultOf } from '../support/import-command.ts';
import { apiSend } from '../support/import-runs.ts';
import { apiGet, personalKey, projectKey, startServer, tempDataDir, type CountsAnswer } from '../support/server.ts';

describe('millrace import into the real service', () => {
  it('an import of the same records under other names names the command that undoes the first one, and loads them afterwards', async () => {
    await using data = await tempDataDir();
    const server = await startServer(data.path);
    await using made = await newImport(mixpanelLines(70));
    const names = join(made.dir, 'names.json');
    await writeFile(names, JSON.stringify({ events: { 'Event 1': 'Renamed' } }));
    const args = ['--project-key', projectKey, '--api-key', personalKey];
    const { id } = resultOf(await made.spawn(server.url, args));
    const renamed = [...args, '--names', names];
    const refused = await made.spawn(server.url, renamed);
    const undo = `millrace import undo ${id}`;
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining(`To replace them with these, run "${undo}", then run the same command again.`),
    ]);
    const options = ['--yes', '--state-dir', made.state, '--api-key', personalKey];
    expect((await spawnCommand([...undo.split(' ').slice(1), ...options])).code).toBe(0);
    const loaded = await made.spawn(server.url, renamed);
    expect([loaded.code, loaded.stderr]).toEqual([0, expect.any(String)]);
    expect(await stored(server)).toBe(70);
    await server.terminate();
  });

  it('killed with kill -9 while it loads, the same command continues; the stored events are exactly the sent ones', async () => {
    await using data = await tempDataDir();
    const server = await startServer(data.path);
    await using made = await newImport();
    const args = ['--project-key', projectKey, '--api-key', personalKey];
    let child: ChildProcess | undefined;
    const killed = made.spawn(server.url, [...args, '--speed', '1500'], { onStart: (started) => (child = started) });
    // Something is stored, and more is on its way.
    while ((await stored(server)) === 0) await delay(50);
    child?.kill('SIGKILL');
    expect((await killed).code).toBe(null);
    const again = await made.spawn(server.url, args);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('resumes in load')]);
    expect(resultOf(again)).toMatchObject({
      state: 'completed',
      totals: { records: count, events: count, loaded: count, rejected: 0, verified: count },
      verify: { verdict: 'exact', expected: count, found: count },
    });
    expect(await stored(server)).toBe(count);
    await server.terminate();
  });

  it('is a run of the service: paused there, listed, undone by the command, and not treated as done afterwards', async () => {
    await using data = await tempDataDir();
    const server = await startServer(data.path);
    await using made = await newImport();
    const args = ['--project-key', projectKey, '--api-key', personalKey];
    const paused = made.spawn(server.url, [...args, '--speed', '200']);
    while ((await runs(server))[0]?.stage !== 'load') await delay(200);
    const [{ id = '' } = {}] = await runs(server);
    await apiSend(server, 'POST', `/api/projects/@current/pipeline_import_apps_configs/0/runs/${id}/pause/`);
    expect((await paused).code).toBe(75);
    expect(await runs(server)).toMatchObject([{ id, state: 'paused' }]);
    const done = await made.spawn(server.url, args);
    expect([done.code, resultOf(done).id]).toEqual([0, id]);
    expect(await runs(server)).toMatchObject([
      { id, state: 'completed', totals: { loaded: count, verified: count, verdict: 'exact' } },
    ]);
    expect((await runs(server))[0]).toMatchObject({
      name: 'Mixpanel, export.ndjson.gz',
      config_name: 'Mixpanel, export.ndjson.gz',
    });
    // The newest run of this machine only checks, so it is not the one to undo.
    const other = join(made.dir, 'other.ndjson');
    await writeFile(other, `${mixpanelLines(1).join('')}\n`);
    expect((await spawnCommand(['import', 'check', 'mixpanel', other, '--state-dir', made.state])).code).toBe(0);
    const undo = ['import', 'undo', '--yes', '--state-dir', made.state, '--api-key', personalKey];
    expect((await spawnCommand(undo)).code).toBe(0);
    expect(await stored(server)).toBe(0);
    expect(await runs(server)).toMatchObject([
      { id, state: 'undone', totals: { loaded: 0, verified: null, verdict: null } },
    ]);
    const listed = await spawnCommand([
      'import',
      'list',
      '--json',
      '--state-dir',
      made.state,
      '--api-key',
      personalKey,
    ]);
    expect(
      listed.stdout
        .split('\n')
        .filter((line) => line.includes(id))
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([{ id, state: 'undone', totals: { loaded: 0 } }]);
    const again = await made.spawn(server.url, args);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('was undone; --again')]);
    await server.terminate();
  });

  it('into a project with an active transformation ends with 9: every event is stored, and this is not an error', async () => {
    await using data = await tempDataDir();
    const server = await startServer(data.path);
    await using made = await newImport();
    const project = '/api/projects/@current';
    const files = { 'plugin.json': '{"name":"Mark"}', 'index.js': mark };
    const { id: plugin } = await apiSend<{ id: number }>(server, 'POST', `${project}/plugins/`, { files });
    const configs = `${project}/pipeline_transformation_configs/`;
    const { id } = await apiSend<{ id: number }>(server, 'POST', configs, { plugin });
    await apiSend(server, 'PATCH', `${configs}${id}/`, { enabled: true });
    const args = ['--project-key', projectKey, '--api-key', personalKey];
    const done = await made.spawn(server.url, args);
    expect([done.code, resultOf(done).totals]).toMatchObject([9, { loaded: count, verified: count, rejected: 0 }]);
    expect(done.stderr).toContain('every event is stored');
    expect(done.stderr).not.toContain('error:');
    // The figures shown later say the same.
    const verify = await spawnCommand(['import', 'verify', '--state-dir', made.state]);
    expect([verify.code, verify.stderr]).toEqual([9, expect.not.stringContaining('error:')]);
    await server.terminate();
  });
});

const mark = "exports.processEvent = (event) => ({ ...event, properties: { ...event.properties, marked: 'yes' } })";

async function runs(server: Parameters<typeof apiGet>[0]): Promise<readonly ImportRunRecord[]> {
  return (await apiGet<ImportRunsRecord>(server, '/api/projects/@current/import_runs/')).results;
}

async function stored(server: Parameters<typeof apiGet>[0]): Promise<number> {
  const { total } = await apiGet<CountsAnswer>(server, '/api/projects/@current/events/counts/');
  return total.historical;
}
