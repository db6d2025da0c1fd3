import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimRun, completeRun } from '../../imports/run/claim-run.ts';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';

const apps = '/pipeline_import_apps_configs';

let api: ImportsApp;
beforeAll(async () => {
  api = await startImportsApp();
});
afterAll(() => api[Symbol.asyncDispose]());

/** Returns the path of a run that has only been checked. */
async function checkedRun(): Promise<string> {
  const config = await api.config();
  const { body } = await api.call('POST', `${apps}/${config}/runs/`, { last: 'check', choose: { sample: 0.5 } });
  const id = String(body['id']);
  const { db, clock } = api.app;
  const claim = await claimRun(db, clock.now(), 60_000, { onlyRun: id });
  if (claim === undefined) throw new Error('expected a run to be claimed');
  await db.updateTable('import_runs').set({ stage: 'check' }).where('id', '=', id).execute();
  await completeRun(db, claim, clock.now());
  return `${apps}/${config}/runs/${id}`;
}

it('new rules repeat the check of a run from its staged records, with the rest of its choice', async () => {
  const path = await checkedRun();
  const rules = { padded_ids: 'trim', identity: 'merge' };
  const { status, body } = await api.call('POST', `${path}/resume/`, { rules, last: 'check' });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    state: 'queued',
    stage: 'check',
    options: { last: 'check', choose: { sample: 0.5, ...rules } },
  });
});

it('rules that do not exist are refused', async () => {
  const path = await checkedRun();
  for (const rules of [{ padded_ids: 'maybe' }, { sample: 1 }, 'trim']) {
    const { status, body } = await api.call('POST', `${path}/resume/`, { rules });
    expect([status, body['attr']]).toEqual([400, expect.stringContaining('rules')]);
  }
});

it('rules are refused once events are loaded, which would have other rules than the rest', async () => {
  const path = await checkedRun();
  const id = path.split('/').at(-1) ?? '';
  const totals = JSON.stringify({ records: 1, skipped: {}, rejected: 0, events: 1, duplicates: 0, loaded: 1 });
  await api.app.db.updateTable('import_runs').set({ totals }).where('id', '=', id).execute();
  const { status, body } = await api.call('POST', `${path}/resume/`, { rules: { padded_ids: 'trim' } });
  expect([status, body['detail']]).toEqual([409, expect.stringContaining('before run')]);
});
