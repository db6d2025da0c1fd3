import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { insertRows, newProject, testRow, dayMicros } from '../../../test/conformance/event-store/event-store.ts';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import type { RetentionPolicy, RetentionPreview, RetentionRecord } from '../../wire/contract/retention.ts';
import { monthsWithExpired } from '../../stores/events/expired-counts.ts';
import { loadSettings } from '../config/load.ts';
import { serviceRetentionOf } from '../service/service-retention.ts';
import { retentionRoutes } from './retention.ts';

let chdb: TempChdb;
let app: TestApp;
const serviceRetention = serviceRetentionOf(loadSettings({ env: {} }).settings);
const hostile = 'it\'s 鞋 \\ "x"\') OR 1=1 --';

beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());
beforeEach(async () => {
  app = await startTestApp((db, { clock }) => retentionRoutes({ db, clock, store: chdb.store, serviceRetention }));
  const forever = BigInt(Date.parse('2200-01-01')) * 1000n;
  const all = { projectId: app.project.id, keptSince: { live: forever, historical: forever }, events: [] };
  for (const month of await monthsWithExpired(chdb.store, [all])) await chdb.store.removeExpired(month, [all]);
  return () => app[Symbol.asyncDispose]();
});

const keepAll: RetentionPolicy = { live_days: null, historical_days: null, events: [] };
let inserted = 0;

/** Inserts events of the project that are this many days old. */
async function insert(rows: readonly { daysOld: number; event?: string; historical?: boolean }[]): Promise<void> {
  const today = Math.floor(app.clock.now() / 86_400_000);
  const made = rows.map(({ daysOld, ...row }) => {
    const keyDay = today - daysOld;
    return testRow(app.project.id, { keyDay, timestampMicros: keyDay * dayMicros + 1, ...row });
  });
  await insertRows(chdb.store, `retention-api-${newProject()}-${inserted++}`, made);
}

async function call(method: 'GET' | 'PUT' | 'POST', body?: object, scopes?: readonly string[], path = '') {
  const key = await app.key(scopes ?? ['*', 'erasure:write']);
  return await app.inject({
    method,
    url: `/api/projects/${app.project.id}/retention${path}/`,
    headers: { authorization: `Bearer ${key}` },
    ...(body && { payload: body }),
  });
}

async function preview(policy: RetentionPolicy): Promise<RetentionPreview> {
  const answer = await call('POST', policy, ['project:read'], '/preview');
  expect(answer.statusCode).toBe(200);
  return answer.json();
}

it('keeps everything until a policy is set, and shows what the service keeps', async () => {
  const answer = await call('GET', undefined, ['project:read']);
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({
    ...keepAll,
    updated_at: null,
    next_pass_at: null,
    last_pass: null,
    service: serviceRetention,
  });
});

it('previews by month, name and kind what goes, and saves only with its number', async () => {
  await insert([
    { daysOld: 29 },
    { daysOld: 31 },
    { daysOld: 31, historical: true },
    { daysOld: 100, event: hostile },
    { daysOld: 100, event: hostile, historical: true },
    { daysOld: 100, event: 'order' },
  ]);
  const policy: RetentionPolicy = {
    live_days: 30,
    historical_days: null,
    events: [{ event: hostile, live_days: null, historical_days: 90 }],
  };
  const shown = await preview(policy);
  expect(shown).toMatchObject({ events: 3, newly_expired: 3, is_truncated: false });
  expect(shown.cells.map(({ event, historical_migration: h, events }) => [event, h, events]).toSorted()).toEqual(
    [
      ['$pageview', false, 1],
      [hostile, true, 1],
      ['order', false, 1],
    ].toSorted(),
  );
  expect(shown.months.reduce((sum, { events }) => sum + events, 0)).toBe(3);
  expect(shown.bytes).toBeGreaterThan(0);

  const unconfirmed = await call('PUT', policy);
  expect(unconfirmed.statusCode).toBe(400);
  expect(unconfirmed.json()).toMatchObject({ code: 'required', attr: 'expected_events' });
  expect(unconfirmed.json().detail).toContain('removes 3 events, 3 of which the current policy keeps');
  const few = await call('PUT', { ...policy, expected_events: 2 });
  expect(few.statusCode).toBe(409);
  expect(few.json()).toMatchObject({ code: 'conflict', attr: 'expected_events' });
  expect((await call('GET')).json()).toMatchObject(keepAll);

  const saved = await call('PUT', { ...policy, expected_events: 3 });
  expect(saved.statusCode).toBe(200);
  const record: RetentionRecord = saved.json();
  expect(record).toMatchObject(policy);
  // The next night, not now: there is time to correct a mistake.
  expect(Date.parse(record.next_pass_at ?? '')).toBeGreaterThan(app.clock.now());
  expect(await preview(policy)).toMatchObject({ events: 3, newly_expired: 0 });
});

it('a policy that removes nothing new needs no confirmation', async () => {
  await insert([{ daysOld: 400 }]);
  const policy = { live_days: 365, historical_days: null, events: [] };
  const { events } = await preview(policy);
  expect((await call('PUT', { ...policy, expected_events: events })).statusCode).toBe(200);
  expect((await call('PUT', policy)).statusCode).toBe(200);
  expect((await call('PUT', { ...policy, live_days: 500 })).statusCode).toBe(200);
  const all = await call('PUT', keepAll);
  expect(all.json()).toMatchObject({ ...keepAll, next_pass_at: null });
});

it('records a change in the activity log', async () => {
  const policy = { live_days: 3650, historical_days: null, events: [] };
  await call('PUT', policy);
  const entries = await app.db.selectFrom('activity_log').selectAll().execute();
  expect(entries).toMatchObject([{ scope: 'RetentionPolicy', activity: 'updated', item_id: String(app.project.id) }]);
  expect(JSON.parse(entries[0]?.changes ?? '')).toEqual([
    { field: 'live_days', action: 'created', before: null, after: 3650 },
  ]);
});

it.each([['*'], ['project:write'], ['erasure:read'], ['query:write']])('a key with %s cannot set it', async (scope) => {
  const answer = await call('PUT', keepAll, [scope]);
  expect(answer.statusCode).toBe(403);
  expect(answer.json().detail).toContain("'erasure:write'");
});

it.each([
  [{ ...keepAll, live_days: 0 }, 'live_days'],
  [{ ...keepAll, live_days: 1.5 }, 'live_days'],
  [{ ...keepAll, historical_days: 36_501 }, 'historical_days'],
  [{ ...keepAll, live_days: 'soon' }, 'live_days'],
  [{ live_days: null, events: [] }, 'historical_days'],
  [{ ...keepAll, events: [{ event: '', live_days: 1, historical_days: 1 }] }, 'events__0__event'],
  [{ ...keepAll, events: [{ event: 'a' }] }, 'events__0__live_days'],
  [
    {
      ...keepAll,
      events: ['a', 'b', 'a'].map((event) => ({ event, live_days: 1, historical_days: null })),
    },
    'events__2__event',
  ],
])('refuses %j, naming %s', async (body, attr) => {
  for (const [method, path] of [
    ['PUT', ''],
    ['POST', '/preview'],
  ] as const) {
    const answer = await call(method, body, undefined, path);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().attr).toBe(attr);
  }
});

it('another organisation sees nothing', async () => {
  const key = await app.key();
  const answer = await app.inject({
    url: `/api/projects/${app.foreignProject.id}/retention/`,
    headers: { authorization: `Bearer ${key}` },
  });
  expect(answer.statusCode).toBe(404);
});
