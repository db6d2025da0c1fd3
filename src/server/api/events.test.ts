import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { StoreUnavailableError, type EventStore } from '../../stores/events/eventstore.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { eventRoutes, type EventPerson } from './events.ts';
import { flatEventRoutes, usageRoutes } from './routes.ts';

// Real: HTTP server, keys and scopes, metadata (SQLite), the embedded engine. Stood in for: the persons.
const ann: EventPerson = {
  id: 'person-ann',
  distinct_ids: ['ann', 'ann@example.com'],
  properties: { plan: 'pro' },
  created_at: '2024-01-01T00:00:00.000000Z',
  is_identified: true,
};
const annUuid = '0190a5d0-aaaa-7222-8333-000000000001';
const persons = {
  byDistinctIds: async () => new Map([['ann', { ...ann, uuid: 'not shown', name: 'not shown' }]]),
  byUuid: async (_project: number, uuid: string) =>
    uuid === annUuid ? { distinct_ids: ['ann', 'ann@example.com'] } : undefined,
};

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Record<string, unknown>;
}

interface ShownEvent {
  readonly id: string;
  readonly event: string;
  readonly timestamp: string;
}

const uuid = (n: number): string => `0190a5d0-1111-7222-8333-${String(n).padStart(12, '0')}`;
const dayMicros = 86_400_000_000;

describe('reading events over the API', () => {
  let chdb: TempChdb;
  let test: TestApp;
  let key: string;

  async function get(path: string, bearer = key): Promise<Answer> {
    const url = path.startsWith('/') ? path : `/api/projects/${test.project.id}/${path}`;
    const response = await test.inject({ method: 'GET', url, headers: { authorization: `Bearer ${bearer}` } });
    return { status: response.statusCode, headers: response.headers, body: response.json() };
  }

  beforeAll(async () => {
    chdb = await tempChdb();
    const { store } = chdb;
    test = await startTestApp((db) => [
      ...eventRoutes({ store, persons }),
      ...flatEventRoutes({ db, store, persons }),
      ...usageRoutes({ store }),
    ]);
    key = await test.key(['query:read', 'project:read']);
    const projectId = test.project.id;
    const rows = Array.from({ length: 25 }, (_, n) =>
      testRow(projectId, {
        uuid: uuid(n),
        event: n % 2 === 0 ? '$pageview' : 'sign up & more',
        distinctId: n === 7 ? 'ann@example.com' : n % 5 === 0 ? 'ann' : 'bob',
        keyDay: 19_700 + n,
        timestampMicros: (19_700 + n) * dayMicros + n,
        receivedAtMicros: (20_000 + (n % 2)) * dayMicros,
        historical: n < 10,
        properties: `{"n":${n},"__proto__":{"x":1}}`,
      }),
    );
    await insertRows(store, 'first', rows);
    await insertRows(store, 'sent-again', rows);
    await insertRows(store, 'other', [testRow(test.otherProject.id, { uuid: uuid(99) })]);
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
    await chdb.close();
  });

  it('shows an event with its person, times in µs, properties as stored', async () => {
    const { status, body } = await get(`events/${uuid(5)}`);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toBe(
      JSON.stringify({
        id: uuid(5),
        event: 'sign up & more',
        distinct_id: 'ann',
        timestamp: '2023-12-14T00:00:00.000005Z',
        properties: JSON.parse('{"n":5,"__proto__":{"x":1}}') as object,
        person: { ...ann, distinct_ids_total: 2 },
        historical_migration: true,
      }),
    );
    expect((await get(`events/${uuid(6)}`)).body).toMatchObject({ person: null });
  });

  it.each([uuid(5).replaceAll('-', ''), `{${uuid(5)}}`, `urn:uuid:${uuid(5).toUpperCase()}`])(
    'finds an event by its uuid as %s',
    async (spelt) => {
      expect((await get(`events/${encodeURIComponent(spelt)}`)).body).toMatchObject({ id: uuid(5) });
    },
  );

  it.each([uuid(99), uuid(77), 'no-uuid'])('answers 404 for %s, which this project does not have', async (id) => {
    expect(await get(`events/${id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  it('leads through all pages by `next`, each event once, newest first, filters kept, no key in the link', async () => {
    const seen: ShownEvent[] = [];
    let path: string | null = `events?limit=4&event=%24pageview&personal_api_key=${key}`;
    while (path !== null) {
      const { status, body }: Answer = await get(path);
      expect(status).toBe(200);
      expect(body['previous']).toBeNull();
      seen.push(...(body['results'] as ShownEvent[]));
      const next = body['next'] as string | null;
      expect(next ?? '').not.toContain(key);
      path = next === null ? null : new URL(next).pathname + new URL(next).search;
    }
    expect(seen.map((event) => event.id)).toEqual([24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0].map(uuid));
  });

  it('/api/event reads the project that @current means for the key', async () => {
    const page = await get('/api/event/?limit=2&event=%24pageview');
    expect((page.body['results'] as ShownEvent[]).map(({ id }) => id)).toEqual([24, 22].map(uuid));
    expect(page.body['next']).toMatch(/\/api\/event\/\?.*cursor=/);
    expect((await get(`/api/event/${uuid(5)}/`)).body).toEqual((await get(`events/${uuid(5)}`)).body);
    const other = await test.key(['query:read'], { projectIds: [test.otherProject.id] });
    expect((await get('/api/event/', other)).body['results']).toMatchObject([{ id: uuid(99) }]);
    expect((await get('/api/event/', await test.key(['project:read']))).status).toBe(403);
  });

  const lists: readonly [string, number[]][] = [
    ['limit=3', [24, 23, 22]],
    ['after=2024-01-02T00:00:00Z', [24]],
    ['after=2024-01-01&before=2024-01-02', [23]],
    ['before=2023-12-11', [1, 0]],
    ['before=2023-12-10T01:00:00%2B01:00', [0]],
    ['distinct_id=ann', [20, 15, 10, 5, 0]],
    [`person_id=${annUuid}`, [20, 15, 10, 7, 5, 0]],
    [`person_id=${annUuid}&distinct_id=ann@example.com`, [7]],
    [`person_id=${uuid(99)}`, []],
    ['person_id=ann', []],
    ['historical_migration=true&limit=2', [9, 8]],
    ['historical_migration=false&before=2023-12-21', [11, 10]],
    [`properties=${encodeURIComponent('[{"key":"n","value":[7,"8"]}]')}`, [8, 7]],
    [`properties=${encodeURIComponent('[{"key":"n","operator":"is_not_set"}]')}`, []],
    ['event=none', []],
  ];
  it.each(lists)('lists by %s', async (query, expected) => {
    const { status, body } = await get(`events?${query}`);
    expect(status).toBe(200);
    // The 9th of December 2023 is day 19,700.
    expect((body['results'] as ShownEvent[]).map((event) => event.id)).toEqual(expected.map(uuid));
  });

  const refused: readonly [string, string][] = [
    ['events?limit=0', 'limit'],
    ['events?limit=1001', 'limit'],
    ['events?limit=x', 'limit'],
    ['events?after=yesterday', 'after'],
    ['events?before=2024-02-30', 'before'],
    ['events?before=2024-01-01T25:00', 'before'],
    ['events?historical_migration=perhaps', 'historical_migration'],
    ['events?cursor=abc', 'cursor'],
    [`events?cursor=${Buffer.from('["1","x","e","d",1]').toString('base64url')}`, 'cursor'],
    ['events?properties=x', 'properties'],
    ['events?properties=%7B%7D', 'properties'],
    [`events?properties=${encodeURIComponent('[{"value":1}]')}`, 'properties'],
    [`events?properties=${encodeURIComponent('[{"key":"a","value":1,"operator":"regex"}]')}`, 'properties'],
    [`events?properties=${encodeURIComponent('[{"key":"a","value":{}}]')}`, 'properties'],
    ['events/counts?interval=year', 'interval'],
    ['events/counts?after=x', 'after'],
    ['usage?after=2024-01-01T00:00:00Z', 'after'],
    ['usage?before=2024-13-01', 'before'],
  ];
  it.each(refused)('refuses %s and names the field', async (path, attr) => {
    const { status, body } = await get(path);
    expect(status).toBe(400);
    expect(body).toMatchObject({ type: 'validation_error', attr });
  });

  it('counts per interval, name and kind, with totals', async () => {
    const { status, body } = await get('events/counts?interval=month&after=2023-12-09&before=2024-01-01');
    expect(status).toBe(200);
    const time = '2023-12-01T00:00:00.000000Z';
    expect(body).toEqual({
      results: [
        { time, event: '$pageview', historical_migration: false, count: 7 },
        { time, event: '$pageview', historical_migration: true, count: 5 },
        { time, event: 'sign up & more', historical_migration: false, count: 6 },
        { time, event: 'sign up & more', historical_migration: true, count: 5 },
      ],
      total: { standard: 13, historical: 10 },
    });
    const { body: ofAnn } = await get(`events/counts?person_id=${annUuid}`);
    expect(ofAnn).toMatchObject({ total: { standard: 3, historical: 3 } });
    const { body: days } = await get('events/counts?event=%24pageview');
    expect(days).toMatchObject({ total: { standard: 8, historical: 5 } });
    expect(days['results']).toHaveLength(13);
  });

  it('meters events per day of arrival, once though they were sent twice', async () => {
    const all = {
      results: [
        { date: '2024-10-04', standard: 8, historical: 5 },
        { date: '2024-10-05', standard: 7, historical: 5 },
      ],
      total: { standard: 15, historical: 10 },
    };
    expect((await get('usage')).body).toEqual(all);
    expect((await get('usage?after=2024-10-05&before=2024-10-06')).body).toEqual({
      results: all.results.slice(1),
      total: { standard: 7, historical: 5 },
    });
  });

  it('asks for the scopes', async () => {
    const narrow = await test.key(['plugin:write']);
    expect((await get('events', narrow)).status).toBe(403);
    expect((await get('usage', narrow)).status).toBe(403);
    expect((await get('usage', await test.key(['query:read']))).status).toBe(403);
    expect((await get(`/api/projects/${test.foreignProject.id}/events`)).status).toBe(404);
  });
});

it('while the store is down answers 503 with Retry-After and tells no inner detail', async () => {
  const down = async (): Promise<never> => {
    throw new StoreUnavailableError('inner detail');
  };
  const store: EventStore = {
    insertBatch: down,
    deleteRun: down,
    erase: down,
    removeExpired: down,
    query: down,
    waitForReplicas: down,
    health: down,
    close: down,
  };
  await using test = await startTestApp((db) => [
    ...eventRoutes({ store, persons }),
    ...flatEventRoutes({ db, store, persons }),
    ...usageRoutes({ store }),
  ]);
  const headers = { authorization: `Bearer ${await test.key()}` };
  for (const path of ['events', `events/${uuid(1)}`, 'events/counts', 'usage']) {
    const response = await test.inject({ method: 'GET', url: `/api/projects/${test.project.id}/${path}`, headers });
    expect(response.statusCode).toBe(503);
    expect(response.headers['retry-after']).toBe('5');
    expect(response.json()).toMatchObject({ code: 'unavailable' });
    expect(response.body).not.toContain('inner detail');
  }
});
