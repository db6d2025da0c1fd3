import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimRun, completeRun } from '../../imports/run/claim-run.ts';
import { insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';

const apps = '/pipeline_import_apps_configs';

let chdb: TempChdb;
let api: ImportsApp;
beforeAll(async () => {
  chdb = await tempChdb();
  api = await startImportsApp({ store: chdb.store });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await chdb.close();
});

/** A run that has ended, with its path. */
async function completed(settings: object = {}): Promise<{ id: string; path: string }> {
  const config = await api.config({ place: 'here', ...settings });
  const { body } = await api.call('POST', `${apps}/${config}/runs/`, {});
  const id = String(body['id']);
  const { db, clock } = api.app;
  const claim = await claimRun(db, clock.now(), 60_000, { onlyRun: id });
  if (claim === undefined) throw new Error('expected a run to be claimed');
  await completeRun(db, claim, clock.now());
  return { id, path: `${apps}/${config}/runs/${id}` };
}

describe('undo over the API', () => {
  it('a dry run reports what would be undone, by name and day, and changes nothing', async () => {
    const { id, path } = await completed();
    const projectId = api.app.project.id;
    const properties = JSON.stringify({ $import_run_id: id });
    await insertRows(chdb.store, `undo-${id}`, [
      testRow(projectId, { event: 'paid', distinctId: 'a', keyDay: 19_800, properties }),
      testRow(projectId, { event: 'paid', distinctId: 'b', keyDay: 19_801, properties }),
      // The same person in another month is one id.
      testRow(projectId, { event: 'paid', distinctId: 'a', keyDay: 19_840, properties }),
      testRow(projectId, { event: 'live', distinctId: 'c', keyDay: 19_801 }),
    ]);
    const { status, body } = await api.call('POST', `${path}/undo/`, { dry_run: true });
    expect(status).toBe(200);
    expect(body).toEqual({
      rows: 3,
      events: 3,
      by_name: { paid: 3 },
      by_day: { '2024-03-18': 1, '2024-03-19': 1, '2024-04-27': 1 },
      distinct_ids: 2,
      persons: 0,
      groups: 0,
      group_types: [],
      other_runs: [],
      exceptions: [],
    });
    expect((await api.call('GET', `${path}/`)).body).toMatchObject({ state: 'completed' });
    expect(await api.app.db.selectFrom('profile_rebuilds').selectAll().execute()).toEqual([]);
  });

  it('puts the run into the stage undo, once, and into the activity log', async () => {
    const { id, path } = await completed();
    const begun = await api.call('POST', `${path}/undo/`, {});
    expect([begun.status, begun.body['state'], begun.body['stage']]).toEqual([202, 'queued', 'undo']);
    expect(begun.body['stages']).toMatchObject([{ stage: 'undo', state: 'active' }]);
    const again = await api.call('POST', `${path}/undo/`, {});
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect((await api.call('POST', `${path}/undo/`, { dry_run: true })).status).toBe(409);
    expect((await api.call('POST', `${path}/cancel/`, {})).status).toBe(409);
    const log = await api.app.db.selectFrom('activity_log').selectAll().execute();
    expect(log.some((row) => JSON.stringify(row).includes('undo') && JSON.stringify(row).includes(id))).toBe(true);
  });

  it('refuses a run that is at work, and one that sent its events elsewhere, saying where they are', async () => {
    const config = await api.config();
    const { body } = await api.call('POST', `${apps}/${config}/runs/`, {});
    const queued = await api.call('POST', `${apps}/${config}/runs/${String(body['id'])}/undo/`, {});
    expect(queued).toMatchObject({ status: 409 });
    expect(queued.body['detail']).toContain('possible: pause, cancel');
    const { id, path } = await completed({ target_url: 'https://other.example.com', target_api_key: 'phc_x' });
    const elsewhere = await api.call('POST', `${path}/undo/`, {});
    expect(elsewhere.status).toBe(409);
    expect(elsewhere.body['detail']).toContain(`"$import_run_id": "${id}"`);
  });

  it('needs a separate scope', async () => {
    const { path } = await completed();
    const weak = { authorization: `Bearer ${await api.app.key(['plugin:write'])}` };
    expect((await api.call('POST', `${path}/undo/`, { dry_run: true }, weak)).status).toBe(403);
    const strong = { authorization: `Bearer ${await api.app.key(['import_undo:write'])}` };
    expect((await api.call('POST', `${path}/undo/`, { dry_run: true }, strong)).status).toBe(200);
  });
});
