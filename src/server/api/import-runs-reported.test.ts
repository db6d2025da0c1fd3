import { describe, expect, it } from 'vitest';
import type { ImportRunReport } from '../../wire/contract/import-runs.ts';
import { newId } from '../../base/ids.ts';
import { isoMicros } from '../../base/clock.ts';
import { claimRun } from '../../imports/run/claim-run.ts';
import { pauseSilentRuns, silentMs } from '../../imports/run/reported-runs.ts';
import { noTotals } from '../../imports/run/run.ts';
import { startImportsApp } from '../../../test/support/imports-app.ts';

const command = 'millrace import mixpanel export.ndjson --project-key phc_…';

function report(change: Partial<ImportRunReport['run']> = {}, more: Partial<ImportRunReport> = {}): ImportRunReport {
  const totals = {
    ...noTotals,
    skipped: {},
    left_out: {},
    replaced: {},
    records: 5,
    loaded: 3,
    verified: null,
    verdict: null,
  };
  return {
    command,
    name: 'Mixpanel, 2 files',
    days: { first: '2024-01-01', last: '2024-01-03' },
    ...more,
    run: {
      source: 'files',
      state: 'running',
      stage: 'load',
      reason: '',
      options: {
        from: null,
        to: null,
        format: 'mixpanel',
        format_options: {},
        names: null,
        choose: null,
        transform: null,
        again: false,
        replace: false,
        last: 'report',
        limit: null,
        rejected_max: 0,
        events_per_second: 0,
        preflight: false,
        scheduled: false,
        target: { kind: 'http', url: 'http://127.0.0.1:8000' },
      },
      stages: [],
      totals,
      ...change,
    },
  };
}

describe('a run of the command line', () => {
  it('is listed by the service and steered there: a pause stays until its command begins once more', async () => {
    await using api = await startImportsApp();
    const id = newId();
    const path = `/import_runs/${id}/`;
    const steer = (verb: string, body = {}) =>
      api.call('POST', `/pipeline_import_apps_configs/0/runs/${id}/${verb}/`, body);
    expect((await api.call('PUT', path, report({}, { begin: true }))).status).toBe(201);
    expect((await api.call('PUT', path, report({}, { begin: true }))).status).toBe(200);
    const ofConfig = await api.call('GET', '/pipeline_import_apps_configs/0/runs/');
    expect(ofConfig).toMatchObject({ status: 200, body: { count: 1, results: [{ id, plugin_config: 0 }] } });
    expect((await api.call('GET', `/pipeline_import_apps_configs/0/runs/${id}/`)).body).toMatchObject({ id });
    const { body } = await api.call('GET', '/import_runs/');
    expect(body).toMatchObject({
      by_state: { running: 1 },
      results: [{ id, plugin_config: 0, config_name: 'Mixpanel, 2 files', command, totals: { loaded: 3 } }],
    });
    expect((await steer('pause')).body).toMatchObject({ state: 'paused' });
    expect((await api.call('PUT', path, report())).body).toMatchObject({ state: 'paused' });
    expect((await steer('resume')).status).toBe(409);
    expect((await api.call('PUT', path, report({}, { begin: true }))).body).toMatchObject({ state: 'running' });
    const done = await api.call('PUT', path, report({ state: 'completed', stage: 'report' }));
    expect(done.body).toMatchObject({ state: 'completed', finished_at: expect.any(String) });
    expect((await steer('undo')).body).toMatchObject({ state: 'queued', stage: 'undo' });
    const late = await api.call('PUT', path, report({}, { begin: true }));
    expect([late.status, late.body['detail']]).toEqual([409, expect.stringContaining('start another one')]);
    const log = await api.call('GET', '/activity_log/?scope=ImportRun');
    expect(JSON.stringify(log.body)).toContain('Mixpanel, 2 files');
  });

  it('counts as paused when its command stops reporting, with the command that resumes it, and runs again when it reports', async () => {
    await using api = await startImportsApp();
    const { db } = api.app;
    const path = `/import_runs/${newId()}/`;
    await api.call('PUT', path, report({}, { begin: true }));
    await pauseSilentRuns(db, Date.now());
    expect((await api.call('GET', '/import_runs/')).body).toMatchObject({ by_state: { running: 1 } });
    await db
      .updateTable('import_runs')
      .set({ lease_until: isoMicros(Date.now() - 1) })
      .execute();
    await pauseSilentRuns(db, Date.now());
    const reason = `its command has not reported for ${silentMs / 1000} s; resume it with: ${command}`;
    expect((await api.call('GET', '/import_runs/')).body).toMatchObject({ results: [{ state: 'paused', reason }] });
    expect((await api.call('PUT', path, report())).body).toMatchObject({ state: 'running', reason: '' });
  });

  it('is taken by no worker but for its undo', async () => {
    await using api = await startImportsApp();
    const { db } = api.app;
    const id = newId();
    await api.call('PUT', `/import_runs/${id}/`, report({}, { begin: true }));
    await db
      .updateTable('import_runs')
      .set({ lease_until: isoMicros(0) })
      .execute();
    expect(await claimRun(db, Date.now(), 1000)).toBeUndefined();
    await api.call('PUT', `/import_runs/${id}/`, report({ state: 'failed', reason: 'expected a key' }));
    await api.call('POST', `/pipeline_import_apps_configs/0/runs/${id}/undo/`, {});
    expect(await claimRun(db, Date.now(), 1000, { kind: 'import' })).toBeUndefined();
    expect(await claimRun(db, Date.now(), 1000, { kind: 'undo' })).toMatchObject({ run: { id, stage: 'undo' } });
  });

  it('refuses the id of another run and invalid reports', async () => {
    await using api = await startImportsApp();
    const config = await api.config();
    const { body } = await api.call('POST', `/pipeline_import_apps_configs/${config}/runs/`, {});
    const taken = await api.call('PUT', `/import_runs/${String(body['id'])}/`, report({}, { begin: true }));
    expect([taken.status, taken.body['code']]).toEqual([409, 'conflict']);
    expect((await api.call('PUT', '/import_runs/some/', report())).status).toBe(400);
    expect((await api.call('PUT', `/import_runs/${newId()}/`, { begin: true })).status).toBe(400);
  });
});
