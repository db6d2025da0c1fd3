import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import { addDeadLetters, deadRecord } from '../../pipeline/dead-letters.ts';
import { runReplays } from '../../pipeline/replay-runner.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { createRegistry } from '../../plugins/plugin-registry.ts';
import { dropEvents } from '../../plugins/transformations/drop-events.ts';
import { rename } from '../../plugins/transformations/rename.ts';
import { createLog } from '../telemetry/log.ts';
import { serviceTrialDeps } from '../../pipeline/transform/trial-deps.ts';
import { deadLetterReplayRoutes } from './dead-letter-replays.ts';
import { deadLetterTrialRoutes } from './dead-letter-trials.ts';
import { deadLetterRoutes } from './dead-letters.ts';

// Real: HTTP server, keys and scopes, metadata (SQLite), built-in transformations, the runner of replays.
const plugins = [rename, dropEvents];
const registry = createRegistry(plugins);
const eventBytesMax = 2000;
const unused = async (): Promise<never> => {
  throw new Error('expected no sandbox: these plugins are built in');
};
let app: TestApp;
let sent: AcceptedBatch[] = [];
const ingest = { accept: async (batch: AcceptedBatch) => void sent.push(batch) };
let headers: { authorization: string };
let dropId: number;

beforeAll(async () => {
  app = await startTestApp((db, { clock }) => {
    const trials = serviceTrialDeps(db, {
      findPlugin: (slug) => registry.get(slug),
      sandbox: { describe: unused, open: unused, close: unused },
      loadProgram: unused,
      fetch: testHost().fetch,
      geoip: { geoip: undefined, geoipProblem: '' },
      taskMs: 5000,
      now: () => clock.now(),
    });
    const packages = { fetch: unused, npmRegistry: '', sandbox: { describe: unused } };
    const deps = { db, clock, ingest, eventBytesMax, trials, packages };
    return [...deadLetterRoutes(deps), ...deadLetterReplayRoutes(deps), ...deadLetterTrialRoutes(deps)];
  });
  headers = { authorization: `Bearer ${await app.key()}` };
  await syncPlugins(app.db, plugins, app.clock.now());
  await addConfig('rename', 0, rename.example.settings);
  dropId = await addConfig('drop-events', 1, dropEvents.example.settings);
});
afterAll(() => app[Symbol.asyncDispose]());
beforeEach(async () => {
  sent = [];
  await app.db.deleteFrom('dead_letters').execute();
  await app.db.deleteFrom('dead_letter_replays').execute();
});

async function addConfig(slug: string, position: number, settings: object): Promise<number> {
  const { id: plugin_id } = await app.db
    .selectFrom('plugins')
    .select('id')
    .where('slug', '=', slug)
    .executeTakeFirstOrThrow();
  const time = '2026-11-20T10:00:00.000000Z';
  const own = { name: '', description: '', deleted: 0, error: '', enabled: 1, position, plugin_version_id: null };
  const { id } = await app.db
    .insertInto('plugin_configs')
    .values({
      ...own,
      project_id: app.project.id,
      plugin_id,
      family: 'transformation',
      settings: JSON.stringify(settings),
      created_at: time,
      updated_at: time,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

async function add(seq: number, original: object): Promise<string> {
  const receivedAt = Date.parse('2026-11-19T08:00:00Z') + seq * 1000;
  const place = { logId: 'log', lane: 'live', seq, index: -1, projectId: app.project.id, receivedAt } as const;
  const reason = { reason: 'processing_failed', detail: 'd', attr: null } as const;
  const row = {
    ...deadRecord(place, reason, Buffer.from(JSON.stringify(original))),
    event: 'seen',
    distinct_id: 'ann',
  };
  await addDeadLetters(app.db, [row]);
  return row.id;
}

const base = '/api/projects/@current/dead_letters';
const get = async (path: string) => (await app.inject({ url: `${base}${path}`, headers })).json();
async function post(path: string, payload: object) {
  const answer = await app.inject({ method: 'POST', url: `${base}${path}`, headers, payload });
  return { status: answer.statusCode, body: answer.json(), location: answer.headers.location };
}

describe('dry runs', () => {
  it('of many report what ingest and transformations would do, and send nothing', async () => {
    const kept = await add(1, { ...rename.example.before, timestamp: 'soon' });
    const dropped = await add(2, dropEvents.example.before);
    const refused = await add(3, { event: 'no id' });
    const { status, body } = await post('/dry_run', { filter: { reason: 'processing_failed' } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ matched: 3, examined: 3, stored: 1, dropped: 1, refused: 1 });
    expect(body.results).toEqual([
      {
        id: kept,
        event: rename.example.after?.event,
        outcome: 'stored',
        code: null,
        detail: null,
        dropped_by: null,
        failed_in: [],
      },
      { id: dropped, event: 'seen', outcome: 'dropped', code: null, detail: null, dropped_by: dropId, failed_in: [] },
      expect.objectContaining({ id: refused, outcome: 'refused', code: 'missing_distinct_id', dropped_by: null }),
    ]);
    expect(sent).toEqual([]);
    expect((await get('?state=open')).count).toBe(3);
    expect((await post('/dry_run', { ids: [refused, kept], limit: 1 })).body).toMatchObject({
      matched: 2,
      examined: 1,
    });
  });

  it('of one take a corrected event, and show it after every step', async () => {
    const id = await add(1, { event: 'no id' });
    expect((await post(`/${id}/dry_run`, {})).body).toMatchObject({ outcome: 'refused', chain: null });
    const { body } = await post(`/${id}/dry_run`, { event: rename.example.before });
    expect(body).toMatchObject({
      outcome: 'stored',
      chain: { outcome: 'kept', after: { event: rename.example.after?.event }, steps: [{ index: 0 }, { index: 1 }] },
    });
    expect(await get(`/${id}`)).toMatchObject({ state: 'open' });
    expect((await post('/unknown/dry_run', {})).status).toBe(404);
  });
});

describe('replays', () => {
  it('are started by filter, report progress, and end with stored events', async () => {
    await add(1, { event: 'seen', distinct_id: 'ann' });
    await add(2, { event: 'no id' });
    const { status, body, location } = await post('/replays', { filter: { distinct_id: 'ann', lane: 'live' } });
    expect([status, location]).toEqual([201, expect.stringContaining(`/dead_letters/replays/${body.id}/`)]);
    expect(body).toMatchObject({
      state: 'queued',
      ids: null,
      filter: { distinct_id: 'ann', lane: 'live' },
      remaining: 2,
    });
    expect((await get('')).results[0]).toMatchObject({ replay_id: body.id, state: 'open' });
    const stop = new AbortController();
    const log = createLog('silent');
    const running = runReplays({
      db: app.db,
      ingest,
      clock: app.clock,
      log,
      eventBytesMax,
      signal: stop.signal,
      pollMs: 5,
    });
    await expect.poll(async () => (await get(`/replays/${body.id}`)).state).toBe('done');
    stop.abort();
    await running;
    const done = await get(`/replays/${body.id}`);
    expect(done).toMatchObject({ matched: 2, replayed: 1, failed: 1, remaining: 0, error: '' });
    expect(done.failures).toMatchObject([{ code: 'missing_distinct_id', count: 1 }]);
    expect(sent).toHaveLength(1);
    expect((await get('/replays')).results).toEqual([done]);
    expect((await post(`/replays/${body.id}/cancel`, {})).status).toBe(409);
  });

  it('can be cancelled, and need a choice', async () => {
    const id = await add(1, { event: 'seen', distinct_id: 'ann' });
    const { body } = await post('/replays', { ids: [id] });
    expect(body).toMatchObject({ ids: 1, filter: null, matched: 1 });
    expect((await post(`/replays/${body.id}/cancel`, {})).body).toMatchObject({ state: 'cancelled', remaining: 0 });
    expect((await post('/replays', { filter: {} })).status).toBe(400);
    expect((await post('/replays', {})).body).toMatchObject({ code: 'required', attr: 'ids' });
    expect((await post('/replays/unknown/cancel', {})).status).toBe(404);
    const log = await app.db.selectFrom('activity_log').selectAll().where('item_id', '=', String(body.id)).execute();
    expect(log.map(({ scope, activity, name }) => [scope, activity, name])).toEqual([
      ['DeadLetter', 'replay_started', '1 dead letter'],
      ['DeadLetter', 'replay_cancelled', '1 dead letter'],
    ]);
  });
});

describe('counts', () => {
  it('are by reason with its meaning, and of the open ones unless asked otherwise', async () => {
    await add(1, { event: 'seen', distinct_id: 'ann' });
    const gone = await add(2, { event: 'seen', distinct_id: 'ann' });
    await post('/discard', { ids: [gone] });
    expect(await get('/counts')).toEqual({
      count: 1,
      results: [
        {
          reason: 'processing_failed',
          meaning: 'A step of the pipeline failed on this event.',
          count: 1,
          oldest: '2026-11-19T08:00:01.000000Z',
          newest: '2026-11-19T08:00:01.000000Z',
          events: [{ event: 'seen', count: 1 }],
        },
      ],
    });
    expect(await get('/counts?state=discarded')).toMatchObject({ count: 1 });
    expect(await get('/counts?reason=invalid_event')).toEqual({ count: 0, results: [] });
  });
});
