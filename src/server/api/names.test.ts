import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { insertRows, newProject, testRow } from '../../../test/conformance/event-store/event-store.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { propertyNames } from '../../stores/events/names.ts';
import { definitionRoutes } from './definitions.ts';
import { nameRoutes, rememberNames } from './names.ts';

// Real: HTTP server, keys and scopes, the embedded engine; its queries are counted.
let chdb: TempChdb;
let app: TestApp;
let key: string;
let queries = 0;

const second = 1_000_000;
const newest = 1_750_000_000 * second;

beforeAll(async () => {
  chdb = await tempChdb();
  const query: EventStore['query'] = (sql, params) => {
    queries += 1;
    return chdb.store.query(sql, params);
  };
  app = await startTestApp((_, { clock }) => {
    const names = rememberNames({ clock, store: { ...chdb.store, query } });
    return [...nameRoutes(names), ...definitionRoutes(names)];
  });
  key = await app.key(['query:read']);
  const texts = [
    ['sign up', '{"plan":"pro","n":1,"deep":{"inner":1}}'],
    ['sign up', '{"plan":null,"n":12345678901234567890123}'],
    ['sign up', '{"list":[],"yes":true}'],
    ['Sign out', '{"n":"text"}'],
    ["o'hara", '{}'],
  ] as const;
  const rows = texts.map(([event, properties], at) =>
    testRow(app.project.id, { event, properties, timestampMicros: newest - at * second }),
  );
  await insertRows(chdb.store, 'names', rows);
  await insertRows(chdb.store, 'others', [testRow(app.otherProject.id, { event: 'foreign', properties: '{"x":1}' })]);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await chdb.close();
});

interface Named {
  readonly name: string;
  readonly count: number;
  readonly types?: readonly string[];
}

async function get(path: string, bearer = key) {
  const url = `/api/projects/${app.project.id}/${path}`;
  const answer = await app.inject({ url, headers: { authorization: `Bearer ${bearer}` } });
  return { status: answer.statusCode, body: answer.json() as { results: Named[] } & Record<string, unknown> };
}

describe('names for pickers', () => {
  it('of events: the most frequent first, of this project alone', async () => {
    const { status, body } = await get('event_names/');
    expect(status).toBe(200);
    expect(body.results.map(({ name, count }) => [name, count])).toEqual([
      ['sign up', 3],
      ['Sign out', 1],
      ["o'hara", 1],
    ]);
    expect(body).toMatchObject({ count: 3, results: [{ last_seen: '2025-06-15T15:06:40.000000Z' }, {}, {}] });
  });

  it('of properties: of the newest 10,000 events, wherever those lie in time', async () => {
    const project = newProject();
    const at = (days: number, properties: string) =>
      testRow(project, { properties, timestampMicros: newest - days * 86_400 * second });
    const rows = Array.from({ length: 10_050 }, (_, index) => at(index / 2_000, '{"new":1}'));
    await insertRows(chdb.store, 'sample-near', [...rows, at(20, '{"old":1}')]);
    const names = async () => await propertyNames(chdb.store, project, undefined);
    expect(await names()).toMatchObject({ sampledEvents: 10_000, properties: [{ name: 'new', count: 10_000 }] });
    // The newest of all is alone in its month.
    await insertRows(chdb.store, 'sample-far', [at(-400, '{"far":1}')]);
    expect((await names()).properties.map(({ name, count }) => [name, count])).toEqual([
      ['new', 9_999],
      ['far', 1],
    ]);
  });

  it('of properties: with the types of their values, also beside a number that no double holds', async () => {
    const { body } = await get('property_names/?event=sign%20up');
    expect(body['sampled_events']).toBe(3);
    const found = Object.fromEntries(body.results.map(({ name, types, count }) => [name, [types, count]]));
    expect(Object.keys(found).sort()).toEqual(['deep', 'list', 'n', 'plan', 'yes']);
    expect(found).toMatchObject({
      plan: [['null', 'string'], 2],
      deep: [['object'], 1],
      list: [['array'], 1],
      yes: [['boolean'], 1],
    });
    expect(found['n']?.[1]).toBe(2);
    expect((await get('property_names/')).body['sampled_events']).toBe(5);
    expect((await get('property_names/?event=none')).body).toMatchObject({ sampled_events: 0, results: [] });
  });

  it('are searched in any case and cut to the limit, with how many fit', async () => {
    const { body } = await get('event_names/?search=SIGN&limit=1');
    expect(body).toMatchObject({ count: 2, results: [{ name: 'sign up' }] });
    expect((await get("event_names/?search=o'h")).body.results).toMatchObject([{ name: "o'hara" }]);
  });

  it('requests on every key press do not query the store again', async () => {
    await get('event_names/');
    await get('property_names/?event=sign%20up');
    const before = queries;
    for (const text of ['s', 'si', 'sig', 'sign']) {
      await get(`event_names/?search=${text}`);
      await get(`property_names/?event=sign%20up&search=${text}`);
    }
    expect(queries).toBe(before);
  });

  it('need query:read', async () => {
    expect((await get('event_names/', await app.key(['project:read']))).status).toBe(403);
  });
});

describe('definitions, as scripts for PostHog read them', () => {
  it('of events: the same names, page by page, with an id that stays', async () => {
    const { status, body } = await get('event_definitions/?limit=2');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      count: 3,
      previous: null,
      next: expect.stringMatching(/\/event_definitions\/\?limit=2&offset=2$/) as string,
      results: [{ name: 'sign up', last_seen_at: '2025-06-15T15:06:40.000000Z', tags: [] }, { name: 'Sign out' }],
    });
    const more = (await get('event_definitions/?limit=2&offset=2')).body;
    expect([more.results.map(({ name }) => name), more['next']]).toEqual([["o'hara"], null]);
    const ids = [...body.results, ...more.results].map((each) => (each as { id?: string }).id);
    expect(new Set(ids).size).toBe(3);
    expect((await get('event_definitions/?search=SIGN%20UP')).body.results).toMatchObject([{ id: ids[0] }]);
  });

  it('of properties: the type of their values, where they have one', async () => {
    const { results } = (await get('property_definitions/')).body;
    const found = Object.fromEntries(
      results.map((each) => {
        const { name, property_type: type, is_numerical: isNumerical } = each as unknown as Record<string, string>;
        return [name, [type, isNumerical]];
      }),
    );
    expect(found).toEqual({
      plan: ['String', false],
      yes: ['Boolean', false],
      // A text in one event, a number in others.
      n: [null, false],
      deep: [null, false],
      list: [null, false],
    });
    const named = (await get('property_definitions/?type=event&properties=yes,plan')).body;
    expect([named['count'], named.results.map(({ name }) => name).toSorted()]).toEqual([2, ['plan', 'yes']]);
    expect((await get('property_definitions/?type=person')).body).toMatchObject({ attr: 'type' });
  });

  it('need query:read, and show one project alone', async () => {
    for (const path of ['event_definitions/', 'property_definitions/']) {
      expect((await get(path, await app.key(['project:read']))).status).toBe(403);
      expect(JSON.stringify((await get(path)).body)).not.toMatch(/foreign|"x"/);
    }
  });
});
