import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { historicalMigrationRoutes } from './historical-migrations.ts';
import { historicalSettingsRoutes } from './historical-settings.ts';

let chdb: TempChdb;
let required: TestApp;
let optional: TestApp;
beforeAll(async () => {
  chdb = await tempChdb();
  const { store } = chdb;
  required = await startTestApp((db, { clock }) => [
    ...historicalMigrationRoutes({ db, clock }),
    ...historicalSettingsRoutes({ db, store, agreementMode: 'required' }),
  ]);
  optional = await startTestApp((db) => historicalSettingsRoutes({ db, store, agreementMode: 'optional' }));
  const row = (historical: boolean) => testRow(required.project.id, { historical });
  await insertRows(store, 'some', [row(true), row(true), row(false)]);
});
afterAll(async () => {
  await required[Symbol.asyncDispose]();
  await optional[Symbol.asyncDispose]();
  await chdb.close();
});

async function call(app: TestApp, method: 'GET' | 'POST', path: string, payload?: object) {
  const url = `/api/projects/${app.project.id}/historical_migrations${path}`;
  const headers = { authorization: `Bearer ${await app.key()}` };
  return (await app.inject({ method, url, headers, ...(payload !== undefined && { payload }) })).json();
}

describe('what bounds the history of a project', () => {
  it('is what is free until an agreement is approved, then the fastest one', async () => {
    const settings = () => call(required, 'GET', '/settings');
    expect(await settings()).toEqual({
      mode: 'required',
      free_events_per_minute: 10_000,
      free_events_in_all: 20_000_000,
      historical_events: 2,
      agreement_in_force: null,
      events_per_second: 10_000 / 60,
      filed: 0,
    });
    const file = async (speed: number): Promise<string> => {
      const body = { source: 'old tool', method: 'import app', total_events: 10, events_per_second: speed };
      return (await call(required, 'POST', '', body)).id;
    };
    const [slow, fast] = [await file(500), await file(2000)];
    expect(await settings()).toMatchObject({ agreement_in_force: null, filed: 2 });
    await call(required, 'POST', `/${slow}/approve`, {});
    await call(required, 'POST', `/${fast}/approve`, {});
    expect(await settings()).toMatchObject({ agreement_in_force: fast, events_per_second: 2000, filed: 0 });
    await call(required, 'POST', `/${fast}/end`, {});
    expect(await settings()).toMatchObject({ agreement_in_force: slow, events_per_second: 500 });
    const ended = await call(required, 'GET', '?state=ended');
    expect(ended).toMatchObject({ count: 1, results: [{ id: fast, state: 'ended' }] });
  });

  it('is nothing where agreements are optional', async () => {
    expect(await call(optional, 'GET', '/settings')).toMatchObject({ mode: 'optional', events_per_second: null });
  });
});
