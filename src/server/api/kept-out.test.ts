import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { createRecordingStore } from '../../../test/support/event-store-double.ts';
import { readConfigRevision } from '../../stores/metadata/config-revision.ts';
import { keepOut } from '../../stores/metadata/kept-out-ids.ts';
import { activityLogRoutes } from './activity-log.ts';
import { erasureRoutes } from './erasures.ts';

let app: TestApp;
let key: string;
const { store } = createRecordingStore();
beforeEach(async () => {
  app = await startTestApp((db, { clock }) => [
    ...erasureRoutes({ db, clock, store, staging: undefined }),
    ...activityLogRoutes({ db }),
  ]);
  key = await app.key(['*', 'erasure:write']);
});
afterEach(() => app[Symbol.asyncDispose]());

async function call(method: 'GET' | 'POST' | 'DELETE', rest: string, body?: unknown, by = key) {
  const response = await app.inject({
    method,
    url: `/api/projects/${app.project.id}/${rest}`,
    headers: { authorization: `Bearer ${by}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { payload: JSON.stringify(body) }),
  });
  return { status: response.statusCode, text: response.body, json: response.json() };
}
const path = 'erasures/kept_out/';
const keep = (ids: readonly string[]): Promise<void> =>
  app.db.transaction().execute((tx) => keepOut(tx, app.project.id, ids));

describe('the ids that a project keeps out', () => {
  it('are counted, removed by id or all together, and recorded in the activity log without an id', async () => {
    expect(await call('GET', path)).toMatchObject({ status: 200, json: { count: 0 } });
    await keep(["ada'é", '12345678901234567890', 'grace']);
    expect((await call('GET', path)).json).toEqual({ count: 3 });
    const before = await readConfigRevision(app.db);
    const removed = await call('POST', `${path}remove/`, { distinct_ids: ["ada'é", 'unknown'] });
    expect(removed).toMatchObject({ status: 200, json: { removed: 1, count: 2 } });
    expect(await readConfigRevision(app.db)).toBeGreaterThan(before);
    expect((await call('DELETE', path)).json).toEqual({ removed: 2, count: 0 });
    const log = await call('GET', 'activity_log/');
    expect(log.json.results.map(({ scope, detail }: { scope: string; detail: unknown }) => [scope, detail])).toEqual([
      ['Erasure', expect.objectContaining({ changes: [expect.objectContaining({ before: 2, after: 0 })] })],
      ['Erasure', expect.objectContaining({ changes: [expect.objectContaining({ before: 3, after: 2 })] })],
    ]);
    expect(log.text).not.toContain("ada'é");
  });

  it('are not removed by a body without ids, nor without the scope', async () => {
    await keep(['ada']);
    for (const body of [{}, { distinct_ids: [] }, { distinct_ids: [''] }, { distinct_ids: 'ada' }]) {
      expect((await call('POST', `${path}remove/`, body)).status).toBe(400);
    }
    const other = await app.key(['*']);
    expect((await call('DELETE', path, undefined, other)).status).toBe(403);
    expect((await call('GET', path)).json).toEqual({ count: 1 });
  });

  it('are those of persons, and never of a selection', async () => {
    const refused = await call('POST', 'erasures/', { selection: { events: ['a'] }, keep_out: true });
    expect(refused).toMatchObject({ status: 400, json: { attr: 'keep_out' } });
    expect(refused.json.detail).toContain('Expected "keep_out" with ids of persons, got a selection');
    const started = await call('POST', 'erasures/', { distinct_ids: ['ada'], keep_out: true });
    expect(started).toMatchObject({ status: 201, json: { request: { by: 'persons', keep_out: true } } });
  });
});
