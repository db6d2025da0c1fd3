import { describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { testPlugins } from '../../../test/support/plugin-rows.ts';
import type { Attention, LaneStatus } from '../../wire/contract/status.ts';
import type { HealthResult } from '../http/health.ts';
import { failRun, claimRun } from '../../imports/run/claim-run.ts';
import { createRun } from '../../imports/run/run-store.ts';
import { runOptions } from '../../../test/support/runs.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { statusRoutes, type StatusSource } from './status.ts';

const lane: LaneStatus = {
  waiting_events: 0,
  waiting_bytes: 0,
  oldest_seconds: 0,
  lag_seconds: 0,
  is_full: false,
  received_per_second: 1.5,
  stored_per_second: 1.5,
};

interface World {
  lanes: { live: LaneStatus; historical: LaneStatus };
  parts: Record<string, HealthResult>;
  free: number;
}

async function start(): Promise<{ readonly app: TestApp; readonly world: World }> {
  const world: World = { lanes: { live: lane, historical: lane }, parts: { event_store: { ok: true } }, free: 5e11 };
  const status: StatusSource = {
    lanes: async () => world.lanes,
    received: async () => ({ live: 1.5, historical: 0 }),
    processes: async () => [],
    keepsData: true,
    parts: async () => world.parts,
    disk: async () => ({ free_bytes: world.free, total_bytes: 1e12 }),
    process: async () => ({
      version: '1.0.0',
      node: 'v24',
      started_at: '2026-11-20T09:00:00.000Z',
      uptime_seconds: 3600,
      memory_bytes: 1,
      errors: [],
      store: { kind: 'embedded', restarts: 0 },
      metadata: 'sqlite',
      plugin_processes: [],
    }),
  };
  const app = await startTestApp((db, { clock }) => statusRoutes({ db, clock, status }));
  return { app, world };
}

async function get(app: TestApp, path: string, scope: string) {
  const headers = { authorization: `Bearer ${await app.key([scope])}` };
  const answer = await app.inject({ url: path, headers });
  return { status: answer.statusCode, body: answer.json() as Record<string, unknown> };
}

async function attention(app: TestApp): Promise<readonly Attention[]> {
  const { body } = await get(app, `/api/projects/${app.project.id}/status/`, 'project:read');
  return body['attention'] as Attention[];
}

async function addConfig(app: TestApp, error: string, more: object = {}): Promise<number> {
  await syncPlugins(app.db, testPlugins, app.clock.now());
  const plugin = await app.db
    .selectFrom('plugins')
    .select('id')
    .where('kind', '=', 'transformation')
    .executeTakeFirstOrThrow();
  const time = '2026-11-20T10:00:00.000000Z';
  const row = { project_id: app.project.id, plugin_id: plugin.id, family: 'transformation', enabled: 1, position: 0 };
  const { id } = await app.db
    .insertInto('plugin_configs')
    .values({
      ...row,
      name: 'Clean up',
      description: '',
      deleted: 0,
      settings: '{}',
      error,
      created_at: time,
      updated_at: time,
      ...more,
    } as never)
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

describe('the status of a project', () => {
  it('says what flows, and nothing needs attention when all is well', async () => {
    const { app } = await start();
    await using _ = app;
    expect(await get(app, `/api/projects/${app.project.id}/status/`, 'project:read')).toEqual({
      status: 200,
      body: {
        status: 'ok',
        lanes: { live: lane, historical: lane },
        received_per_second: { live: 1.5, historical: 0 },
        attention: [],
      },
    });
  });

  it('an enabled config with an error is named with its page; one that is off or deleted is not', async () => {
    const { app } = await start();
    await using _ = app;
    const id = await addConfig(app, 'no such database');
    await addConfig(app, 'off', { enabled: 0 });
    await addConfig(app, 'gone', { deleted: 1 });
    expect(await attention(app)).toMatchObject([
      { code: 'config_failing', summary: 'Clean up: no such database', target: `transformations/${id}` },
    ]);
  });

  it('the latest run of a config counts as failed; a failure before it is history', async () => {
    const { app } = await start();
    await using _ = app;
    const run = {
      projectId: app.project.id,
      configId: 7,
      source: 'test-source',
      options: runOptions,
      now: app.clock.now(),
    };
    const { id } = await createRun(app.db, run);
    const claim = await claimRun(app.db, app.clock.now(), 60_000, { onlyRun: id });
    if (claim === undefined) throw new Error('expected a claim');
    await failRun(app.db, claim, 'the key is wrong', app.clock.now());
    expect(await attention(app)).toMatchObject([
      { code: 'run_failed', severity: 'error', target: `imports/7/runs/${id}` },
    ]);
    app.clock.advance(1000);
    await createRun(app.db, { ...run, now: app.clock.now() });
    expect(await attention(app)).toEqual([]);
  });

  it('a full lane, a full disk and a part that does not work need attention, errors first', async () => {
    const { app, world } = await start();
    await using _ = app;
    world.parts = { plugins: { ok: false, optional: true, detail: 'Stopped.' }, event_store: { ok: false } };
    world.lanes = { live: { ...lane, is_full: true, waiting_events: 9 }, historical: lane };
    world.free = 1e9;
    const found = await attention(app);
    expect(found.map(({ code, severity }) => [code, severity])).toEqual([
      ['part_unwell', 'error'],
      ['lane_full', 'error'],
      ['disk_low', 'error'],
      ['part_unwell', 'warning'],
    ]);
    const { body } = await get(app, '/api/status/', 'organization:read');
    expect(body).toMatchObject({ status: 'unavailable', parts: [{ name: 'plugins', required: false }, { ok: false }] });
    world.parts = { plugins: { ok: false, optional: true } };
    expect((await get(app, '/api/status/', 'organization:read')).body['status']).toBe('degraded');
  });
});

describe('the status of the service', () => {
  it('requires access to the organisation', async () => {
    const { app } = await start();
    await using _ = app;
    expect((await get(app, '/api/status/', 'project:read')).status).toBe(403);
    expect((await get(app, '/api/status/', 'organization:read')).body).toMatchObject({
      version: '1.0.0',
      disk: { free_bytes: 5e11, total_bytes: 1e12 },
      imports: { by_state: {}, waiting: 0, stalled_seconds: 0 },
    });
  });
});
