import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import type { ExportRecord } from '../../wire/contract/exports.ts';
import { openDirStaging } from '../../imports/staging/open-staging.ts';
import type { Staging } from '../../imports/staging.ts';
import { runTasks } from '../../queue/tasks/task-runner.ts';
import { stagedPlace } from '../../stores/export/places/staged-place.ts';
import { exportKind } from '../../stores/export/run-export.ts';
import { exportRoutes } from './exports.ts';
import { readRange } from './read-range.ts';

let chdb: TempChdb;
let app: TestApp;
let storage: Staging;
let dir: string;
const stop = new AbortController();
let running: Promise<void>;

beforeAll(async () => {
  chdb = await tempChdb();
  dir = await mkdtemp(join(tmpdir(), 'exports-api-'));
  storage = await openDirStaging(dir);
  const { store } = chdb;
  app = await startTestApp((db, { clock }) => exportRoutes({ db, clock, store, exports: storage }));
  const kind = exportKind({
    db: app.db,
    store,
    now: () => app.clock.now(),
    waitUntilStored: async () => undefined,
    failpoint: () => undefined,
    openPlace: async ({ id }) => stagedPlace(storage, id, async () => undefined),
  });
  running = runTasks({ db: app.db, log: app.app.log as never, signal: stop.signal, pollMs: 20 }, [kind]);
  const rows = Array.from({ length: 30 }, (_, i) =>
    testRow(app.project.id, {
      event: i % 3 === 0 ? 'order "paid"' : '$pageview',
      properties: `{"id":1234567890123456789${i}}`,
      receivedAtMicros: (app.clock.now() - 1000) * 1000,
    }),
  );
  await insertRows(store, 'rows', rows);
});
afterAll(async () => {
  stop.abort();
  await running;
  await app[Symbol.asyncDispose]();
  await chdb.close();
  await rm(dir, { recursive: true, force: true });
});

const root = (id = app.project.id): string => `/api/projects/${id}/exports`;

async function call(method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object, headers: object = {}) {
  const authorization = `Bearer ${await app.key()}`;
  return app.inject({ method, url, headers: { authorization, ...headers }, ...(payload && { payload }) });
}

async function ended(id: string): Promise<ExportRecord> {
  const read = async (): Promise<ExportRecord> => (await call('GET', `${root()}/${id}`)).json();
  await expect.poll(async () => (await read()).state).not.toMatch(/queued|running/);
  return read();
}

async function exported(body: object): Promise<ExportRecord> {
  const answer = await call('POST', root(), body);
  expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
  expect(answer.headers['location']).toContain(`/exports/${answer.json().id}/`);
  return ended(answer.json().id);
}

describe('exports over the API', () => {
  it('are counted, run, listed, downloaded in ranges and deleted', async () => {
    const selection = { events: ['order*'] };
    const estimate = await call('POST', `${root()}/estimate`, { selection, tables: ['events', 'persons'] });
    expect(estimate.json()).toMatchObject({ events: 10, persons: 0, groups: null, unfinished_runs: [] });
    const record = await exported({ selection, compression: 'none' });
    expect(record).toMatchObject({
      state: 'done',
      request: { tables: ['events'], format: 'ndjson', shape: 'millrace', destination: { kind: 'service' } },
      progress: { events: 10, names: { 'order "paid"': 10 }, done: ['events'] },
      result: { rows: { events: 10 }, parts: 1 },
    });
    const [part] = record.progress?.parts ?? [];
    const url = `${root()}/${record.id}/files/${part?.name}`;
    const whole = await call('GET', url);
    expect([whole.statusCode, whole.headers['content-disposition']]).toEqual([
      200,
      'attachment; filename="events-00001.ndjson"',
    ]);
    expect(whole.rawPayload.length).toBe(part?.bytes);
    expect(whole.body).toContain('12345678901234567890');
    for (const range of ['bytes=0-9', 'bytes=10-', 'bytes=-7', `bytes=5-${(part?.bytes ?? 0) + 100}`]) {
      const piece = await call('GET', url, undefined, { range });
      const [, start = 0, end = 0] = /^bytes (\d+)-(\d+)\//.exec(String(piece.headers['content-range'])) ?? [];
      expect(piece.statusCode).toBe(206);
      expect(piece.rawPayload).toEqual(whole.rawPayload.subarray(Number(start), Number(end) + 1));
    }
    expect((await call('GET', url, undefined, { range: `bytes=${part?.bytes}-` })).statusCode).toBe(416);
    const manifest = await call('GET', `${root()}/${record.id}/files/manifest.json`);
    expect(manifest.json()).toMatchObject({ selection, parts: record.progress?.parts });
    expect((await call('GET', root())).json()).toMatchObject({ results: [{ id: record.id }] });
    expect((await call('DELETE', `${root()}/${record.id}`)).statusCode).toBe(204);
    expect(await storage.list(record.id)).toEqual([]);
    for (const gone of [url, `${root()}/${record.id}`]) expect((await call('GET', gone)).statusCode).toBe(404);
  });

  it('are recorded in the activity log', async () => {
    const record = await exported({});
    await call('DELETE', `${root()}/${record.id}`);
    const rows = await app.db.selectFrom('activity_log').select('activity').where('item_id', '=', record.id).execute();
    expect(rows.map(({ activity }) => activity).sort()).toEqual(['deleted', 'started']);
  });

  it('say that their files were removed', async () => {
    const record = await exported({});
    await storage.remove(`${record.id}/`);
    const answer = await call('GET', `${root()}/${record.id}/files/manifest.json`);
    expect([answer.statusCode, answer.json().detail]).toEqual([404, expect.stringContaining('because of their age')]);
  });

  it.each([
    [{ selection: { after: 'yesterday' } }, 'selection__after', 'ISO 8601'],
    [{ selection: { after: '2026-02-01', before: '2026-01-01' } }, 'selection__before', 'after'],
    [{ destination: { kind: 'gcs', bucket: '/b', key_file: '{}' } }, 'destination.bucket', 'name of a bucket'],
    [{ destination: { kind: 's3', bucket: 'exports' } }, 'destination.access_key_id', 'access_key_id'],
    [{ destination: { kind: 'service', bucket: 'exports' } }, 'destination.bucket', 'no other field'],
    [{ destination: { kind: 'azure', account: 'acct', container: 'ctr' } }, 'destination.sas_token', 'account_key'],
    [
      { destination: { kind: 'gcs', bucket: 'exports', key_file: '{}', endpoint: 'ftp://x' } },
      'destination.endpoint',
      'https://',
    ],
    [{ tables: [] }, 'tables', ''],
    [{ rows_per_part: 10 }, 'rows_per_part', ''],
    [{ format: 'xml' }, 'format', ''],
  ])('are refused with the field at fault: %j', async (body, attr, detail) => {
    const answer = await call('POST', root(), body);
    expect([answer.statusCode, answer.json().attr]).toEqual([400, attr]);
    expect(answer.json().detail).toContain(detail);
  });

  it('keep the secrets of a destination out of every answer and of the activity log', async () => {
    const secret = 'a-secret-that-is-never-shown';
    const destination = { kind: 's3', bucket: 'exports', access_key_id: 'id', secret_access_key: secret };
    const started = await call('POST', root(), { destination });
    expect(started.json().request.destination).toEqual({ kind: 's3', bucket: 'exports', access_key_id: 'id' });
    const { id } = started.json();
    await ended(id);
    const log = await app.db.selectFrom('activity_log').selectAll().where('item_id', '=', id).execute();
    const task = await app.db.selectFrom('tasks').selectAll().where('id', '=', id).execute();
    const list = await call('GET', root());
    expect([started.body, list.body, JSON.stringify(log), JSON.stringify(task)].join()).not.toContain(secret);
    const file = await call('GET', `${root()}/${id}/files/manifest.json`);
    expect([file.statusCode, file.json().detail]).toEqual([404, expect.stringContaining('sent to its destination')]);
  });

  it('are not deleted while they run, and need their own scope', async () => {
    const { id } = (await call('POST', root(app.otherProject.id), {})).json();
    await app.db.updateTable('tasks').set({ state: 'running', lease_until: '2999' }).where('id', '=', id).execute();
    expect((await call('DELETE', `${root(app.otherProject.id)}/${id}`)).statusCode).toBe(409);
    expect((await call('GET', `${root()}/${id}`)).statusCode).toBe(404);
    const authorization = `Bearer ${await app.key(['query:read', 'person:read', 'project:read'])}`;
    for (const [method, url] of [
      ['GET', root()],
      ['POST', root()],
      ['POST', `${root()}/estimate`],
    ] as const) {
      const answer = await app.inject({ method, url, headers: { authorization }, payload: {} });
      expect([answer.statusCode, answer.json().detail]).toEqual([403, expect.stringContaining('export:')]);
    }
  });
});

describe('a Range header', () => {
  it.each([
    [undefined, undefined],
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=90-', { start: 90, end: 100 }],
    ['bytes=-10', { start: 90, end: 100 }],
    ['bytes=-1000', { start: 0, end: 100 }],
    ['bytes=50-1000', { start: 50, end: 100 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=9-3', undefined],
    ['bytes=0-1,5-6', undefined],
    ['items=0-1', undefined],
  ])('%s of 100 bytes', (header, expected) => {
    expect(readRange(header, 100)).toEqual(expected);
  });
});
