import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimRun, completeRun, failRun } from '../../imports/run/claim-run.ts';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';

const apps = '/pipeline_import_apps_configs';

let api: ImportsApp;
beforeAll(async () => {
  api = await startImportsApp();
});
afterAll(() => api[Symbol.asyncDispose]());

interface Made {
  readonly config: number;
  readonly id: string;
  readonly path: string;
}

async function started(body: object = {}, config?: number): Promise<Made> {
  const of = config ?? (await api.config());
  const answer = await api.call('POST', `${apps}/${of}/runs/`, body);
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  const id = String(answer.body['id']);
  return { config: of, id, path: `${apps}/${of}/runs/${id}` };
}

/** As a worker leaves it. */
async function ended({ id }: Made, reason?: string): Promise<void> {
  const { db, clock } = api.app;
  const claim = await claimRun(db, clock.now(), 60_000, { onlyRun: id });
  if (claim === undefined) throw new Error('expected a run to be claimed');
  if (reason === undefined) await completeRun(db, claim, clock.now());
  else await failRun(db, claim, reason, clock.now());
}

describe('replace over the API', () => {
  it('a run says what it replaces, has a stage for it, and the log says who asked for that', async () => {
    const first = await started();
    await ended(first);
    const second = await started({ replace: [first.id] }, first.config);
    const { body } = await api.call('GET', `${second.path}/`);
    expect(body).toMatchObject({ options: { replace: [first.id] }, totals: { replaced: {} } });
    const stages = (body['stages'] as { stage: string }[]).map(({ stage }) => stage);
    expect(stages).toEqual(['export', 'check', 'replace', 'load', 'verify', 'report']);
    const log = api.app.db.selectFrom('activity_log').selectAll().where('item_id', '=', String(second.id));
    const entry = await log.executeTakeFirstOrThrow();
    expect(entry).toMatchObject({ scope: 'ImportRun', activity: 'run', user_id: api.app.user.id });
    expect(JSON.parse(entry.snapshot)).toMatchObject({ replace: [first.id] });
    expect((await api.call('GET', `${first.path}/`)).body).toMatchObject({ state: 'completed' });
  });

  it('needs the scope of an undo beside that of a run, at a start, at a resume and for a job', async () => {
    const { config, path } = await started();
    const weak = { authorization: `Bearer ${await api.app.key(['plugin:write'])}` };
    const start = (headers: Record<string, string>, replace: unknown) =>
      api.call('POST', `${apps}/${config}/runs/`, { replace }, headers);
    expect(await start(weak, true)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('import_undo:write') as string },
    });
    expect((await start(weak, false)).status).toBe(201);
    expect((await api.call('POST', `${path}/resume/`, { replace: true }, weak)).status).toBe(403);
    const strong = { authorization: `Bearer ${await api.app.key(['plugin:write', 'import_undo:write'])}` };
    expect((await start(strong, true)).status).toBe(201);
    for (const type of ['run', 'resume']) {
      const job = await api.call('POST', `${apps}/${config}/job/`, { job: { type, payload: { replace: true } } }, weak);
      expect([job.status, job.body['detail']]).toEqual([400, expect.stringContaining('import_undo:write')]);
    }
  });

  it('names of runs that cannot be undone are refused immediately', async () => {
    const config = await api.config();
    const queued = await started({}, config);
    const elsewhere = await api.config({ place: 'here', target_url: 'https://a.example', target_api_key: 'phc_x' });
    const other = await started({}, elsewhere);
    await ended(other);
    const refused = async (replace: unknown, of = config): Promise<unknown[]> => {
      const { status, body } = await api.call('POST', `${apps}/${of}/runs/`, { replace });
      return [status, body['detail']];
    };
    expect(await refused(['unknown'])).toEqual([400, expect.stringContaining('another run of this project')]);
    expect(await refused([queued.id])).toEqual([409, expect.stringContaining('it is queued; wait')]);
    expect(await refused([other.id])).toEqual([409, expect.stringContaining('another service')]);
    expect(await refused([])).toEqual([400, expect.any(String)]);
    expect(await refused(true, elsewhere)).toEqual([400, expect.stringContaining('loads into this project')]);
  });

  it('a run that failed because of earlier ones resumes from its check with `replace`', async () => {
    const first = await started();
    await ended(first);
    const second = await started({}, first.config);
    const { db } = api.app;
    const stage = { stage: 'load', progress: JSON.stringify({ export: {}, check: {} }) };
    await db.updateTable('import_runs').set(stage).where('id', '=', second.id).execute();
    await ended(second, `resume this run with replace set to ${first.id}`);
    const { status, body } = await api.call('POST', `${second.path}/resume/`, { replace: [first.id] });
    expect([status, body['state'], body['stage']]).toEqual([200, 'queued', 'check']);
    expect(body['options']).toMatchObject({ replace: [first.id] });
    await ended(second, 'later');
    const totals = JSON.stringify({ records: 1, skipped: {}, rejected: 0, events: 1, duplicates: 0, loaded: 1 });
    await db.updateTable('import_runs').set({ totals }).where('id', '=', second.id).execute();
    const late = await api.call('POST', `${second.path}/resume/`, { replace: true });
    expect([late.status, late.body['detail']]).toEqual([409, expect.stringContaining('has begun to load')]);
    const again = await api.call('POST', `${second.path}/resume/`, { again: true });
    expect(again.body['options']).toMatchObject({ again: true });
  });
});
