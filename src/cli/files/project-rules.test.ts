import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { dayMicros, insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';
import { projectLimitRoutes } from '../../server/api/project-limits.ts';
import { retentionRoutes } from '../../server/api/retention.ts';
import { loadSettings } from '../../server/config/load.ts';
import { serviceRetentionOf } from '../../server/service/service-retention.ts';
import { noOverrides } from '../../wire/contract/project-limits.ts';
import { exitCodes } from '../exit-codes.ts';

let configs: ConfigsApp;
let chdb: TempChdb;
let folder: string;
let env: Record<string, string>;
const hostile = 'Käufe "鞋"; DROP 9007199254740993123';
const retention = {
  live_days: 365,
  historical_days: null,
  events: [
    { event: hostile, live_days: 30, historical_days: 3000 },
    { event: 'a', live_days: null, historical_days: 1 },
  ],
};
const limits = { events_per_second: 500, bytes_per_second: 0, backlog_bytes: null };

beforeAll(async () => {
  chdb = await tempChdb();
  folder = await mkdtemp(join(tmpdir(), 'millrace-rules-file-'));
  const serviceRetention = serviceRetentionOf(loadSettings({ env: {} }).settings);
  configs = await startConfigsApp({
    routes: (db, { clock }) => [
      ...retentionRoutes({ db, clock, store: chdb.store, serviceRetention }),
      ...projectLimitRoutes({
        db,
        clock,
        limitDefaults: { events_per_second: 9, bytes_per_second: 9, backlog_bytes: 9 },
      }),
    ],
  });
  await configs.app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = configs.app.app.server.address() as AddressInfo;
  env = { MILLRACE_URL: `http://127.0.0.1:${port}`, MILLRACE_API_KEY: await configs.app.key() };
  const today = Math.floor(configs.app.clock.now() / 86_400_000);
  const rows = [10, 40, 50].map((daysOld) => {
    const keyDay = today - daysOld;
    return testRow(configs.app.project.id, { keyDay, timestampMicros: keyDay * dayMicros, event: hostile });
  });
  await insertRows(chdb.store, 'rules-file', rows);
});
afterAll(async () => {
  await configs[Symbol.asyncDispose]();
  await chdb.close();
  await rm(folder, { recursive: true });
});

const file = (): string => join(folder, 'millrace.yaml');
const run = (...args: readonly string[]): Promise<Finished> => runCommand([...args, '--file', file()], { env });
const write = (project: object, name = configs.app.project.name): Promise<void> =>
  writeFile(file(), stringify({ version: 1, projects: [{ name, ...project }] }));

async function call(method: 'GET' | 'PUT' | 'PATCH', path: string, payload?: object, project = configs.app.project.id) {
  const headers = { authorization: `Bearer ${env['MILLRACE_API_KEY']}`, 'content-type': 'application/json' };
  const url = `/api/projects/${project}/${path}/`;
  return (await configs.app.inject({ method, url, headers, ...(payload && { payload }) })).json<object>();
}

describe('retention and limits in a configuration file', () => {
  it('are shown with the events that expire, applied, exported, and the same again', async () => {
    await write({ retention, limits });
    const diff = await run('diff');
    expect(diff.code).toBe(exitCodes.differences.code);
    expect(diff.stdout).toContain('~ retention.live_days: null → 365');
    expect(diff.stdout).toContain('- the retention removes 2 events permanently, from the next night on');
    expect(diff.stdout).toContain('~ limits.events_per_second: null → 500');
    expect(diff.stdout).not.toContain('backlog_bytes');
    expect(await call('GET', 'retention')).toMatchObject({ live_days: null, events: [] });

    const applied = await run('apply', '--yes');
    expect([applied.code, applied.stderr]).toEqual([0, expect.stringContaining('set the retention of project')]);
    expect(await call('GET', 'retention')).toMatchObject(retention);
    expect(await call('GET', 'limits')).toMatchObject(limits);
    await write({ limits, retention: { ...retention, events: retention.events.toReversed() } });
    expect((await run('diff')).stderr).toContain('no differences');

    expect((await run('export')).code).toBe(0);
    const { projects } = parse(await readFile(file(), 'utf8')) as { projects: object[] };
    expect(projects).toEqual([expect.objectContaining({ retention, limits })]);
    expect((await run('diff')).code).toBe(0);
  });

  it('that the file does not mention are not changed, and what a section omits is the default', async () => {
    await call('PUT', 'retention', { ...retention, expected_events: 3 });
    await call('PATCH', 'limits', limits);
    await write({});
    expect((await run('apply', '--yes')).stderr).toContain('no differences');
    expect(await call('GET', 'retention')).toMatchObject(retention);
    await write({ limits: { backlog_bytes: 7 } });
    expect((await run('apply', '--yes')).code).toBe(0);
    expect(await call('GET', 'retention')).toMatchObject(retention);
    expect(await call('GET', 'limits')).toMatchObject({ ...noOverrides, backlog_bytes: 7 });
    await write({ retention: {} });
    expect((await run('apply', '--yes')).code).toBe(0);
    expect(await call('GET', 'retention')).toMatchObject({ live_days: null, historical_days: null, events: [] });
    expect(await call('GET', 'limits')).toMatchObject({ backlog_bytes: 7 });
  });

  it('are those of a project that the file creates', async () => {
    await write({ retention, limits }, 'New "項目"');
    const diff = await run('diff');
    expect(diff.stdout).toContain('+ retention.live_days: 365');
    expect((await run('apply', '--yes')).code).toBe(0);
    expect((await run('diff')).stderr).toContain('no differences');
  });

  it('that are invalid are refused with their place, without a service', async () => {
    const twice = [retention.events[0], retention.events[0]];
    await write({ retention: { live_days: 0, historical: 3 }, limits: { events_per_second: -1 } });
    const { code, stderr } = await runCommand(['validate', '--file', file()], { env: {} });
    expect(code).toBe(exitCodes.invalidConfig.code);
    for (const place of ['retention.live_days', 'historical', 'limits.events_per_second'])
      expect(stderr).toContain(place);
    await write({ retention: { events: twice } });
    const double = await runCommand(['validate', '--file', file()], { env: {} });
    expect(double.code).toBe(exitCodes.invalidConfig.code);
    expect(double.stderr).toMatch(/retention\.events\.1\.event: .*is listed twice/);
  });
});
