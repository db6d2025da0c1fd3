import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';
import { hourMs } from '../../base/time.ts';
import { claimRun, completeRun } from '../../imports/run/claim-run.ts';
import { files } from '../../imports/sources/files.ts';

const apps = '/pipeline_import_apps_configs';

let api: ImportsApp;
beforeAll(async () => {
  api = await startImportsApp({ plugins: [files] });
});
afterAll(() => api[Symbol.asyncDispose]());

const hourly = { every_minutes: 60 };
const put = (id: number, body: object) => api.call('PUT', `${apps}/${id}/schedule/`, body);

describe('the schedule of an import app', () => {
  it('is set, read, listed, paused and deleted, each in the activity log of the config', async () => {
    const id = await api.config();
    expect((await api.call('GET', `${apps}/${id}/schedule/`)).status).toBe(404);
    const made = await put(id, { ...hourly, from: '2026-01-31T00:00:00Z' });
    expect(made).toMatchObject({ status: 200 });
    expect(made.body).toEqual({
      plugin_config: id,
      config_name: expect.stringMatching(/./),
      every_minutes: 60,
      daily_at: null,
      overlap_minutes: 120,
      paused: false,
      covered_to: '2026-01-31T00:00:00.000000Z',
      next_at: expect.any(String),
      run: null,
      run_state: null,
      last_run: null,
      error: '',
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    // The next full hour of the database's clock.
    const next = Date.parse(String(made.body['next_at']));
    expect([next % hourMs, next > Date.now() && next <= Date.now() + hourMs]).toEqual([0, true]);
    const changed = await put(id, { daily_at: '03:30', overlap_minutes: 0 });
    expect(changed.body).toMatchObject({ every_minutes: null, daily_at: '03:30', overlap_minutes: 0 });
    expect(changed.body['covered_to']).toBe('2026-01-31T00:00:00.000000Z');
    const paused = await api.call('PATCH', `${apps}/${id}/schedule/`, { paused: true });
    expect(paused.body).toMatchObject({ paused: true, next_at: null, daily_at: '03:30' });
    expect((await api.call('GET', `${apps}/${id}/schedule/`)).body).toEqual(paused.body);
    expect((await api.call('GET', '/import_schedules/')).body).toMatchObject({ count: 1, results: [paused.body] });
    expect((await api.call('DELETE', `${apps}/${id}/schedule/`)).status).toBe(204);
    expect((await api.call('GET', `${apps}/${id}/schedule/`)).status).toBe(404);
    const log = await api.call('GET', `/activity_log/?scope=PluginConfig&item_id=${id}`);
    const words = (log.body['results'] as { activity: string }[]).map(({ activity }) => activity);
    expect(words.filter((word) => word.startsWith('schedule'))).toEqual([
      'schedule_deleted',
      'schedule_paused',
      'schedule_updated',
      'schedule_created',
    ]);
  });

  it('is refused for a source that cannot select by time, with what can', async () => {
    const id = await api.config({ paths: 'upload:a.jsonl', format: 'mixpanel' }, 'files');
    const { status, body } = await put(id, hourly);
    expect([status, body['attr']]).toEqual([400, 'plugin_config']);
    expect(body['detail']).toMatch(/^"Files.*" cannot select by time: each run would read all of it again/);
  });

  it('of an app without runs is a conflict, and of a config that is not there not found', async () => {
    const id = await api.config({}, 'test-app');
    expect((await put(id, hourly)).status).toBe(409);
    expect((await put(999_999, hourly)).status).toBe(404);
  });

  it.each([
    [{}, 'every_minutes'],
    [{ every_minutes: 60, daily_at: '03:00' }, 'every_minutes'],
    [{ every_minutes: 1 }, 'every_minutes'],
    [{ daily_at: '24:00' }, 'daily_at'],
    [{ every_minutes: 60, overlap_minutes: -1 }, 'overlap_minutes'],
    [{ every_minutes: 60, from: 'yesterday' }, 'from'],
  ])('refuses %j', async (body, attr) => {
    const answer = await put(await api.config(), body);
    expect([answer.status, answer.body['attr']]).toEqual([400, attr]);
  });

  it('runs on request, one at a time, and covers what it has imported', async () => {
    const id = await api.config();
    await put(id, { ...hourly, paused: true, from: '2026-01-31T00:00:00Z', overlap_minutes: 60 });
    const run = await api.call('POST', `${apps}/${id}/schedule/run/`);
    expect(run).toMatchObject({ status: 201 });
    expect(run.body).toMatchObject({ options: { from: '2026-01-31T00:00:00.000Z', scheduled: true } });
    expect(String(run.headers['location'])).toMatch(new RegExp(`${apps}/${id}/runs/${String(run.body['id'])}/$`));
    const { body } = await api.call('GET', `${apps}/${id}/schedule/`);
    expect(body).toMatchObject({ run: run.body['id'], run_state: 'queued' });
    expect((await api.call('POST', `${apps}/${id}/schedule/run/`)).status).toBe(409);
    const claim = await claimRun(api.app.db, Date.now(), 60_000, { onlyRun: String(run.body['id']) });
    if (claim === undefined) throw new Error('expected the run to be claimed');
    await completeRun(api.app.db, claim, Date.now());
    const second = await api.call('POST', `${apps}/${id}/schedule/run/`);
    const { from } = (second.body as { options: { from: string } }).options;
    const { to } = (run.body as { options: { to: string } }).options;
    expect(Date.parse(from)).toBe(Date.parse(to) - hourMs);
  });

  it('with a new start time begins there, regardless of its previous run', async () => {
    const id = await api.config();
    await put(id, { ...hourly, paused: true, from: '2026-01-31T00:00:00Z', overlap_minutes: 0 });
    const run = await api.call('POST', `${apps}/${id}/schedule/run/`);
    const claim = await claimRun(api.app.db, Date.now(), 60_000, { onlyRun: String(run.body['id']) });
    if (claim === undefined) throw new Error('expected the run to be claimed');
    await put(id, { ...hourly, paused: true, from: '2025-06-01T00:00:00Z', overlap_minutes: 0 });
    await completeRun(api.app.db, claim, Date.now());
    const { body } = await api.call('GET', `${apps}/${id}/schedule/`);
    expect(body).toMatchObject({ last_run: { id: run.body['id'], state: 'completed', scheduled: true } });
    const next = await api.call('POST', `${apps}/${id}/schedule/run/`);
    expect(next.body).toMatchObject({ options: { from: '2025-06-01T00:00:00.000Z' } });
  });
});
