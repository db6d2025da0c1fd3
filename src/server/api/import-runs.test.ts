import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { getRunSecrets } from '../../imports/run/run-store.ts';
import { claimRun, completeRun, enterStage, failRun } from '../../imports/run/claim-run.ts';
import { stagingKeys } from '../../imports/staging.ts';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';

const apps = '/pipeline_import_apps_configs';

async function startRun(api: ImportsApp, id: number, body: object = {}): Promise<string> {
  const { status, body: run, text } = await api.call('POST', `${apps}/${id}/runs/`, body);
  if (status !== 201) throw new Error(`expected a run, got ${status}: ${text}`);
  return String(run['id']);
}

/** As a worker would: takes the run and ends it. */
async function finish(api: ImportsApp, run: string): Promise<void> {
  const { db, clock } = api.app;
  const claim = await claimRun(db, clock.now(), 60_000, { onlyRun: run });
  if (claim === undefined) throw new Error('expected a run to be claimed');
  await completeRun(db, claim, clock.now());
}

describe('runs of an import app', () => {
  it('invalid settings of a source are refused by name when a run is requested', async () => {
    await using api = await startImportsApp();
    const id = await api.config({ place: 'nowhere' });
    const refusal = { status: 400, body: { code: 'invalid_input', attr: 'settings.place' } };
    const started = await api.call('POST', `${apps}/${id}/runs/`, {});
    expect(started).toMatchObject(refusal);
    expect(started.body['detail']).toBe('setting "place": expected a place, got: nowhere');
    expect(await api.call('POST', `${apps}/${id}/job/`, { job: { type: 'run' } })).toMatchObject(refusal);
    expect((await api.call('GET', `${apps}/${id}/runs/`)).body['count']).toBe(0);
    // A trial that was made with others is not promoted with them either.
    await api.call('PATCH', `${apps}/${id}/settings/`, { place: 'here' });
    const trial = await startRun(api, id, { limit: 10 });
    await finish(api, trial);
    await api.call('PATCH', `${apps}/${id}/settings/`, { place: 'nowhere' });
    expect(await api.call('POST', `${apps}/${id}/runs/${trial}/promote/`)).toMatchObject(refusal);
  });

  it('a run is started with the settings and what the body says, and shows no secrets', async () => {
    await using api = await startImportsApp();
    const id = await api.config({
      place: 'here',
      target_url: 'https://eu.example.com',
      target_api_key: 'phc_hidden',
      target_personal_api_key: 'phx_hidden',
      events_per_second: '500',
    });
    const from = '2024-01-01';
    const { status, body, headers, text } = await api.call('POST', `${apps}/${id}/runs/`, {
      from,
      to: null,
      limit: 100,
    });
    expect(status).toBe(201);
    expect(String(headers['location'])).toMatch(new RegExp(`/runs/${String(body['id'])}/$`));
    expect(body).toMatchObject({
      plugin_config: id,
      source: 'test-source',
      state: 'queued',
      stage: 'export',
      reason: '',
      options: {
        from: '2024-01-01T00:00:00.000Z',
        to: null,
        format: 'mixpanel',
        limit: 100,
        last: 'report',
        events_per_second: 500,
        target: { kind: 'http', url: 'https://eu.example.com/' },
      },
    });
    expect((body['stages'] as { stage: string }[]).map(({ stage }) => stage)).toHaveLength(5);
    expect(text).not.toContain('hidden');
    expect(await getRunSecrets(api.app.db, String(body['id']))).toEqual({
      apiKey: 'phc_hidden',
      personalApiKey: 'phx_hidden',
    });
    const read = await api.call('GET', `${apps}/${id}/runs/${String(body['id'])}/`);
    expect(read.body).toEqual(body);
  });

  it('the list is newest first, by state, and of one config', async () => {
    await using api = await startImportsApp();
    const [one, two] = [await api.config(), await api.config()];
    const runs = [await startRun(api, one), await startRun(api, one), await startRun(api, two)];
    await api.call('POST', `${apps}/${one}/runs/${runs[0]}/cancel/`);
    const idsOf = async (query: string) => {
      const { body } = await api.call('GET', `${apps}/${one}/runs/${query}`);
      return (body['results'] as { id: string }[]).map(({ id }) => id);
    };
    expect(await idsOf('')).toEqual([runs[1], runs[0]]);
    expect(await idsOf('?state=cancelled')).toEqual([runs[0]]);
    expect(await idsOf('?limit=1&offset=1')).toEqual([runs[0]]);
    expect((await api.call('GET', `${apps}/${one}/runs/${runs[2]}/`)).status).toBe(404);
    expect((await api.call('GET', `${apps}/999/runs/`)).status).toBe(404);
  });

  it('the same Idempotency-Key starts one run', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    const key = { 'idempotency-key': 'once' };
    const first = await api.call('POST', `${apps}/${id}/runs/`, { limit: 5 }, key);
    const again = await api.call('POST', `${apps}/${id}/runs/`, { limit: 5 }, key);
    expect(again.body['id']).toBe(first.body['id']);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect((await api.call('GET', `${apps}/${id}/runs/`)).body['count']).toBe(1);
  });

  it('what cannot work is refused at once, with a sentence', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    const cases: readonly [body: object, status: number, detail: RegExp][] = [
      [{ from: 'yesterday' }, 400, /ISO 8601/],
      [{ from: '2024-02-01', to: '2024-01-01' }, 400, /after "from"/],
      [{ rejected_max: 2 }, 400, /1/],
      [{ limit: 0 }, 400, /1/],
      [{ last: 'load' }, 400, /check|valid/],
      [{ format: 'nonesuch' }, 400, /format/],
    ];
    for (const [body, status, detail] of cases) {
      const answer = await api.call('POST', `${apps}/${id}/runs/`, body);
      expect(answer.status).toBe(status);
      expect(String(answer.body['detail'])).toMatch(detail);
    }
    const unset = await api.config({});
    expect((await api.call('POST', `${apps}/${unset}/runs/`, {})).body['detail']).toContain('"place"');
    const other = await api.config({}, 'test-app');
    expect((await api.call('POST', `${apps}/${other}/runs/`, {})).status).toBe(409);
    expect((await api.call('GET', `${apps}/${id}/runs/`)).body['count']).toBe(0);
  });

  it('pause, resume with changes, cancel; what is not possible is 409 and says what is', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    const run = await startRun(api, id);
    const path = `${apps}/${id}/runs/${run}`;
    expect((await api.call('POST', `${path}/pause/`)).body).toMatchObject({ state: 'paused' });
    const again = await api.call('POST', `${path}/pause/`);
    expect(again.status).toBe(409);
    expect(again.body['detail']).toMatch(/paused; possible: resume, cancel/);
    const changes = { rejected_max: 0.05, events_per_second: 200, last: 'check' };
    const resumed = await api.call('POST', `${path}/resume/`, changes);
    expect(resumed.body).toMatchObject({ state: 'queued', options: changes });
    expect((await api.call('POST', `${path}/resume/`, {})).status).toBe(409);
    expect((await api.call('POST', `${path}/retry_rejected/`)).status).toBe(409);
    expect((await api.call('POST', `${path}/cancel/`)).body).toMatchObject({ state: 'cancelled' });
    expect((await api.call('POST', `${path}/resume/`, {})).body['detail']).toMatch(/possible: undo/);
    const log = await api.call('GET', `/activity_log/?scope=ImportRun&item_id=${run}`);
    const entries = log.body['results'] as { activity: string; detail: { name: string } }[];
    expect(entries.map(({ activity }) => activity)).toEqual(['cancel', 'resume', 'pause', 'run']);
  });

  it('a completed run tries its rejected records again, and verifies again', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    const run = await startRun(api, id);
    await finish(api, run);
    const { body } = await api.call('POST', `${apps}/${id}/runs/${run}/retry_rejected/`);
    expect(body).toMatchObject({ state: 'queued', stage: 'check' });
    await finish(api, run);
    const verified = await api.call('POST', `${apps}/${id}/runs/${run}/verify/`);
    expect(verified.body).toMatchObject({ state: 'queued', stage: 'verify' });
  });

  it('a trial is promoted once, with the target of the settings as they are now', async () => {
    await using api = await startImportsApp();
    const id = await api.config({ place: 'here', target_url: 'https://test.example.com', target_api_key: 'phc_test' });
    const trial = await startRun(api, id, { limit: 50, from: '2024-01-01' });
    const path = `${apps}/${id}/runs/${trial}/promote/`;
    expect((await api.call('POST', path)).body['detail']).toMatch(/completed, got one that is queued/);
    await finish(api, trial);
    await api.call('PATCH', `${apps}/${id}/settings/`, { target_url: '', target_api_key: '' });
    const full = await api.call('POST', path);
    expect(full.status).toBe(201);
    expect(full.body).toMatchObject({
      promoted_from: trial,
      options: { limit: null, from: '2024-01-01T00:00:00.000Z', last: 'report', target: { kind: 'project' } },
    });
    expect(String(full.headers['location'])).toContain(`/runs/${String(full.body['id'])}/`);
    expect(await getRunSecrets(api.app.db, String(full.body['id']))).toEqual({});
    expect((await api.call('POST', path)).status).toBe(409);
    const whole = await startRun(api, id);
    await finish(api, whole);
    expect((await api.call('POST', `${apps}/${id}/runs/${whole}/promote/`)).body['detail']).toMatch(/without a limit/);
  });
});

describe('the job operation of an import source', () => {
  const job = (api: ImportsApp, id: number, type: string, payload = {}) =>
    api.call('POST', `${apps}/${id}/job/`, { job: { type, payload } });
  const latest = async (api: ImportsApp, id: number) => {
    const { body } = await api.call('GET', `${apps}/${id}/runs/`);
    const [run] = body['results'] as Record<string, unknown>[];
    return { count: body['count'], ...run };
  };

  it('steers the runs of the config, at once, and its jobs have succeeded', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    const started = await job(api, id, 'check', { limit: 10 });
    expect(started.status).toBe(200);
    expect(await latest(api, id)).toMatchObject({ count: 1, state: 'queued', options: { last: 'check', limit: 10 } });
    const jobs = await api.call('GET', `/jobs/${String(started.headers['x-job-id'])}/`);
    expect(jobs.body).toMatchObject({ state: 'succeeded', type: 'check' });
    await job(api, id, 'pause');
    expect(await latest(api, id)).toMatchObject({ state: 'paused' });
    await job(api, id, 'resume', { rejected_max: 0.1 });
    expect(await latest(api, id)).toMatchObject({ state: 'queued', options: { rejected_max: 0.1 } });
    await job(api, id, 'cancel');
    expect(await latest(api, id)).toMatchObject({ count: 1, state: 'cancelled' });
  });

  it('run resumes the current run, or starts one', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    await job(api, id, 'run');
    await job(api, id, 'run');
    expect(await latest(api, id)).toMatchObject({ count: 1, state: 'queued' });
    const other = await job(api, id, 'run', { from: '2024-01-01' });
    expect(other.status).toBe(409);
    await job(api, id, 'pause');
    await job(api, id, 'run', { events_per_second: 7 });
    const run = await latest(api, id);
    expect(run).toMatchObject({ count: 1, state: 'queued', options: { events_per_second: 7 } });
    await finish(api, String((run as unknown as { id: string }).id));
    await job(api, id, 'verify');
    expect(await latest(api, id)).toMatchObject({ count: 1, state: 'queued', stage: 'verify' });
    await finish(api, String((run as unknown as { id: string }).id));
    await job(api, id, 'run');
    expect(await latest(api, id)).toMatchObject({ count: 2, state: 'queued', stage: 'export' });
  });

  it('run after a check continues with the load, after a trial it starts again', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    await job(api, id, 'check');
    const { db, clock } = api.app;
    const claim = await claimRun(db, clock.now(), 60_000);
    if (claim === undefined) throw new Error('expected a run');
    await enterStage(db, claim, 'check');
    await completeRun(db, claim, clock.now());
    await job(api, id, 'run');
    expect(await latest(api, id)).toMatchObject({ count: 1, stage: 'load', options: { last: 'report' } });
    await job(api, id, 'cancel');
    await job(api, id, 'check', { limit: 3 });
    await finish(api, String(((await latest(api, id)) as unknown as { id: string }).id));
    await job(api, id, 'run');
    expect(await latest(api, id)).toMatchObject({ count: 3, stage: 'export', options: { limit: null } });
  });

  it('what does not fit changes nothing: no job, no change of the config, and it says why', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    const refused = await api.call('POST', `${apps}/${id}/job/`, { name: 'renamed', job: { type: 'pause' } });
    expect(refused.status).toBe(409);
    expect(refused.body['detail']).toMatch(/"pause" is possible; it has no runs/);
    expect((await job(api, id, 'explode')).body['detail']).toMatch(/run, check, pause, resume, cancel, verify/);
    expect((await job(api, id, 'run', { speed: 1 })).status).toBe(400);
    expect((await api.call('GET', `/jobs/?plugin_config=${id}`)).body['count']).toBe(0);
    expect((await api.call('GET', `${apps}/${id}/`)).body['name']).not.toBe('renamed');
    const app = await api.config({}, 'test-app');
    const runner = await job(api, app, 'run');
    expect((await api.call('GET', `/jobs/${String(runner.headers['x-job-id'])}/`)).body['state']).toBe('queued');
  });
});

describe('what a run leaves behind', () => {
  it('check, verify and rejected records come from staging; what is not there yet says why', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    const run = await startRun(api, id);
    const path = `${apps}/${id}/runs/${run}`;
    expect((await api.call('GET', `${path}/check/`)).body['detail']).toMatch(/the run is queued, in the stage export/);
    expect((await api.call('GET', `${path}/rejected/`)).text).toBe('');
    await api.staging.write(stagingKeys.check(run), [Buffer.from('{"verdict":"passed"}')]);
    expect((await api.call('GET', `${path}/check/`)).body).toEqual({ verdict: 'passed' });
    expect((await api.call('GET', `${path}/verify/`)).status).toBe(404);
    const line = (at: number) => `{"part":"a","line":${at},"stage":"check","code":"x","reason":"y","original":"z"}\n`;
    // As stages write them: a frame per piece.
    const frames = [1, 2].map((at) => zstdCompressSync(line(at)));
    await api.staging.write(stagingKeys.rejected(run, 'check-000001-000001'), frames);
    await api.staging.write(stagingKeys.rejected(run, 'export-000001'), [zstdCompressSync(line(3))]);
    const rejected = await api.call('GET', `${path}/rejected/`);
    expect(rejected.headers['content-type']).toContain('application/x-ndjson');
    expect(rejected.text).toBe(line(1) + line(2) + line(3));
    expect((await api.call('HEAD', `${path}/rejected/`)).text).toBe('');
  });

  it('the report is there at any time, as JSON or as a page that can do nothing', async () => {
    await using api = await startImportsApp();
    const id = await api.config();
    const run = await startRun(api, id);
    const path = `${apps}/${id}/runs/${run}/report/`;
    expect((await api.call('GET', path)).body).toMatchObject({ version: 1, verdict: 'unfinished', run: { id: run } });
    const page = await api.call('GET', path, undefined, { accept: 'text/html' });
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'.*sandbox/);
    expect(page.text).toContain('Not finished');
    await finish(api, run);
    await api.staging.write(stagingKeys.report(run, 'html'), [Buffer.from('<!doctype html>stored')]);
    expect((await api.call('GET', `${path}?format=html`)).text).toBe('<!doctype html>stored');
    expect((await api.call('GET', `${path}?format=json`)).body).toMatchObject({ version: 1 });
  });

  it('a process without a place for files says so, and still steers', async () => {
    await using api = await startImportsApp({ hasPlaces: false });
    const id = await api.config();
    const run = await startRun(api, id);
    await failRunOf(api, run);
    const { body } = await api.call('GET', `${apps}/${id}/runs/${run}/`);
    expect(body).toMatchObject({ state: 'failed', reason: 'no such bucket' });
    for (const name of ['check', 'verify', 'report', 'rejected']) {
      expect((await api.call('GET', `${apps}/${id}/runs/${run}/${name}/`)).status).toBe(503);
    }
    expect((await api.call('GET', '/import_files/')).status).toBe(503);
  });
});

async function failRunOf(api: ImportsApp, run: string): Promise<void> {
  const { db, clock } = api.app;
  const claim = await claimRun(db, clock.now(), 60_000, { onlyRun: run });
  if (claim === undefined) throw new Error('expected a run to be claimed');
  await failRun(db, claim, 'no such bucket', clock.now());
}
