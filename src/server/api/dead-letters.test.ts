import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { addDeadLetters, deadRecord } from '../../pipeline/dead-letters.ts';
import { deadLetterRoutes } from './dead-letters.ts';

let app: TestApp;
let headers: { authorization: string };
let sent: AcceptedBatch[];
let refusal: ApiError | undefined;
/** Batches that ingest takes before it refuses. */
let refuseFrom: number;
beforeEach(async () => {
  sent = [];
  refusal = undefined;
  refuseFrom = Number.POSITIVE_INFINITY;
  const ingest = {
    accept: async (batch: AcceptedBatch) => {
      if (refusal !== undefined) throw refusal;
      if (sent.length >= refuseFrom) throw new ApiError('unavailable', 'full');
      sent.push(batch);
    },
  };
  app = await startTestApp((db, { clock }) => deadLetterRoutes({ db, clock, ingest, eventBytesMax }));
  headers = { authorization: `Bearer ${await app.key()}` };
});
afterEach(() => app[Symbol.asyncDispose]());

const eventBytesMax = 2000;
const arrival = Date.parse('2026-11-19T08:00:00.000Z');
const good = { event: 'seen', distinct_id: 'p', uuid: '00000000-0000-4000-8000-000000000001', properties: { a: 1 } };

async function add(seq: number, original: unknown, more: { projectId?: number; lane?: 'live' | 'historical' } = {}) {
  const { projectId = app.project.id, lane = 'live' } = more;
  const place = { logId: 'log', lane, seq, index: -1, projectId, receivedAt: arrival + seq * 1000 };
  const bytes =
    original instanceof Uint8Array
      ? original
      : Buffer.from(typeof original === 'string' ? original : JSON.stringify(original));
  const reason = {
    reason: seq % 2 === 0 ? 'processing_failed' : 'missing_distinct_id',
    detail: 'd',
    attr: null,
  } as const;
  const row = { ...deadRecord(place, reason, bytes), event: 'seen' };
  await addDeadLetters(app.db, [row]);
  return row.id;
}

const get = async (path: string) =>
  (await app.inject({ url: `/api/projects/@current/dead_letters${path}`, headers })).json();
async function post(path: string, payload: object) {
  const url = `/api/projects/@current/dead_letters${path}`;
  const answer = await app.inject({ method: 'POST', url, headers, payload });
  return { status: answer.statusCode, body: answer.json() };
}

describe('reading dead letters', () => {
  it('newest first, filtered, paged, and of this project only', async () => {
    const ids = [await add(1, good), await add(2, good), await add(3, good)];
    await add(4, good, { projectId: app.otherProject.id });
    const list = async (query: string) =>
      (await get(query)).results.map((each: { id: string }) => ids.indexOf(each.id));
    expect(await list('')).toEqual([2, 1, 0]);
    expect(await list('?reason=processing_failed')).toEqual([1]);
    expect(await list('?after=2026-11-19T08:00:02Z')).toEqual([2, 1]);
    expect(await list('?before=2026-11-19T08:00:02Z&event=seen')).toEqual([0]);
    expect(await list('?limit=1&offset=1')).toEqual([1]);
    expect(await list('?state=replayed')).toEqual([]);
    expect((await get('?after=soon')).attr).toBe('after');
    expect((await get('?limit=1')).count).toBe(3);
  });

  it('one contains its original bytes, as text or base64', async () => {
    const text = await add(1, ' {"event" : 1 } ');
    const bytes = await add(2, Uint8Array.of(0x1f, 0x8b, 0xff));
    expect(await get(`/${text}`)).toMatchObject({
      id: text,
      original: ' {"event" : 1 } ',
      original_encoding: 'text',
      received_at: '2026-11-19T08:00:01.000000Z',
      state: 'open',
      decided_at: null,
    });
    expect(await get(`/${bytes}`)).toMatchObject({ original: 'H4v/', original_encoding: 'base64' });
    expect((await get('/unknown')).code).toBe('not_found');
  });
});

describe('replaying', () => {
  it('goes through ingest on its lane with the time of its first arrival', async () => {
    const live = await add(1, good);
    const old = await add(2, { ...good, timestamp: '2021-01-01T00:00:00Z' }, { lane: 'historical' });
    expect(await post('/replay', { ids: [live, old] })).toEqual({
      status: 200,
      body: { matched: 2, replayed: 2, failed: [], remaining: 0 },
    });
    expect(sent.map(({ lane, receivedAt, events, projectId }) => [lane, receivedAt, events, projectId])).toEqual([
      ['live', arrival + 1000, 1, app.project.id],
      ['historical', arrival + 2000, 1, app.project.id],
    ]);
    expect(JSON.parse(Buffer.from(sent[0]?.body ?? []).toString())).toEqual({
      historical_migration: false,
      batch: [good],
    });
    expect(JSON.parse(Buffer.from(sent[1]?.body ?? []).toString())).toMatchObject({ historical_migration: true });
    expect(await get(`/${live}`)).toMatchObject({ state: 'replayed', decided_at: '2026-11-20T10:00:00.000000Z' });
    expect((await post('/replay', { ids: [live, old] })).body).toMatchObject({ matched: 0, replayed: 0 });
  });

  it('a corrected event keeps each of its digits', async () => {
    const id = await add(1, { event: 'seen' });
    const event =
      '{"event":"seen","distinct_id":"p","properties":{"id":12345678901234567890,"share":0.12345678901234567890}}';
    const url = `/api/projects/@current/dead_letters/${id}/replay`;
    const json = { ...headers, 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url, headers: json, payload: `{"event":${event}}` });
    expect(answer.statusCode).toBe(200);
    expect(Buffer.from(sent[0]?.body ?? []).toString()).toContain(event.slice(0, -1));
  });

  it('what would only fail again is not sent and stays open', async () => {
    const bad = await add(1, { event: 'seen' });
    const gone = await add(2, Uint8Array.of(0x1f, 0x8b));
    const huge = await add(3, { ...good, properties: { x: 'x'.repeat(eventBytesMax + 1) } });
    const { body } = await post('/replay', { filter: { event: 'seen' } });
    expect(body.failed.map((each: { id: string; code: string }) => [each.id, each.code])).toEqual([
      [bad, 'missing_distinct_id'],
      [gone, 'invalid_event'],
      [huge, 'event_too_large'],
    ]);
    expect([body.matched, body.replayed, sent.length]).toEqual([3, 0, 0]);
    expect(await get(`/${bad}`)).toMatchObject({ state: 'open' });
  });

  it('an event without a uuid gets the same one at every try', async () => {
    const id = await add(1, { event: 'seen', distinct_id: 'p', uuid: '' });
    refusal = new ApiError('unavailable', 'full');
    expect((await post(`/${id}/replay`, {})).status).toBe(503);
    expect(await get(`/${id}`)).toMatchObject({ state: 'open' });
    refusal = undefined;
    await post(`/${id}/replay`, {});
    await app.db.updateTable('dead_letters').set({ state: 'open' }).execute();
    await post(`/${id}/replay`, {});
    const uuids = sent.map((batch) => JSON.parse(Buffer.from(batch.body).toString()).batch[0].uuid as string);
    expect(uuids[0]).toMatch(/^[\da-f-]{36}$/);
    expect(uuids).toEqual([uuids[0], uuids[0]]);
  });

  it('one by one with a corrected event', async () => {
    const id = await add(1, { event: 'seen' });
    const refused = await post(`/${id}/replay`, {});
    expect([refused.status, refused.body.attr]).toEqual([400, 'event']);
    expect(refused.body.detail).toContain('send a corrected event');
    expect((await post(`/${id}/replay`, { event: good })).body).toMatchObject({ id, state: 'replayed' });
    expect(JSON.parse(Buffer.from(sent[0]?.body ?? []).toString()).batch).toEqual([good]);
    expect((await post(`/${id}/replay`, { event: good })).status).toBe(409);
  });

  it('a dry run changes nothing', async () => {
    const id = await add(1, good);
    expect((await post('/replay', { ids: [id], dry_run: true })).body).toMatchObject({ matched: 1, replayed: 1 });
    expect((await post('/discard', { ids: [id], dry_run: true })).body).toEqual({ matched: 1, discarded: 0 });
    expect(sent).toEqual([]);
    expect(await get(`/${id}`)).toMatchObject({ state: 'open' });
  });
});

describe('choosing', () => {
  it.each([
    [{}, 'ids'],
    [{ filter: {} }, 'filter'],
    [{ ids: ['x'], filter: { reason: 'x' } }, 'filter'],
    [{ ids: [] }, 'ids'],
    [{ filter: { after: 'soon' } }, 'filter__after'],
  ])('%j is refused', async (body, attr) => {
    for (const path of ['/replay', '/discard']) {
      const answer = await post(path, body);
      expect([answer.status, answer.body.attr]).toEqual([400, attr]);
    }
  });

  it('discards what matches, and only what is open and of this project', async () => {
    const id = await add(1, good);
    const replayed = await add(3, good);
    const foreign = await add(5, good, { projectId: app.otherProject.id });
    await post('/replay', { ids: [replayed] });
    expect((await post('/discard', { filter: { reason: 'missing_distinct_id' } })).body).toEqual({
      matched: 1,
      discarded: 1,
    });
    expect((await post('/discard', { ids: [foreign] })).body).toEqual({ matched: 0, discarded: 0 });
    expect(await get(`/${id}`)).toMatchObject({ state: 'discarded' });
    expect(await get(`/${replayed}`)).toMatchObject({ state: 'replayed' });
  });
});

describe('the activity log', () => {
  const entries = async () =>
    (await app.db.selectFrom('activity_log').selectAll().where('scope', '=', 'DeadLetter').orderBy('id').execute()).map(
      ({ item_id, activity, name, user_id, project_id, snapshot }) => ({
        item_id,
        activity,
        name,
        by: [user_id, project_id],
        snapshot: JSON.parse(snapshot) as unknown,
      }),
    );

  it('records who replayed, corrected and discarded what', async () => {
    const [one, two, three] = [await add(1, good), await add(2, { event: 'seen' }), await add(3, good)];
    await post(`/${one}/replay`, {});
    await post(`/${two}/replay`, { event: good });
    await post('/discard', { filter: { event: 'seen' } });
    const by = [app.user.id, app.project.id];
    expect(await entries()).toMatchObject([
      { item_id: one, activity: 'replayed', name: 'seen', by, snapshot: { id: one, state: 'replayed' } },
      { item_id: two, activity: 'corrected_and_replayed', by, snapshot: { id: two, state: 'replayed' } },
      { activity: 'discarded', name: '1 dead letter', by, snapshot: { filter: { event: 'seen' }, discarded: 1 } },
    ]);
    expect(JSON.stringify(await entries())).not.toContain('properties');
    expect(await get(`/${three}`)).toMatchObject({ state: 'discarded' });
  });

  it('contains what was sent before ingest refused the rest, and nothing of a dry run or without matches', async () => {
    const [first, second] = [await add(1, good), await add(2, good)];
    await post('/replay', { ids: [first, second], dry_run: true });
    await post('/discard', { ids: ['unknown'] });
    expect(await entries()).toEqual([]);
    refuseFrom = 1;
    expect((await post('/replay', { ids: [first, second] })).status).toBe(503);
    expect(await entries()).toMatchObject([
      { activity: 'replayed', name: '1 dead letter', snapshot: { ids: [first, second], replayed: 1 } },
    ]);
  });
});
