/** History that arrives late, text that looks like SQL, and years in one body: against the real program. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiGet, projectKey, startServer, tempDataDir, untilSettled, type TestServer } from '../support/server.ts';

let server: TestServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
let standard = 0;
let historical = 0;

beforeAll(async () => {
  dataDir = await tempDataDir();
  server = await startServer(dataDir.path);
});
afterAll(async () => {
  await server.terminate();
  await dataDir[Symbol.asyncDispose]();
});

async function send(batch: object[], isHistorical: boolean): Promise<void> {
  const root = { api_key: projectKey, batch, historical_migration: isHistorical };
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(root),
  });
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'Ok' }]);
  if (isHistorical) historical += batch.length;
  else standard += batch.length;
  await untilSettled(server, { standard, historical });
}

interface PersonAnswer {
  readonly results: readonly { created_at: string; properties: Record<string, unknown> }[];
}

describe('an import of 2021 after live data of today', () => {
  it('keeps the newer properties, and uses created_at and $set_once from 2021', async () => {
    const person = 'late-history';
    const live = { event: 'seen', distinct_id: person, uuid: randomUUID(), timestamp: new Date().toISOString() };
    await send([{ ...live, properties: { $set: { plan: 'team' }, $set_once: { first_page: '/now' } } }], false);
    const old = { event: 'seen', distinct_id: person, uuid: randomUUID(), timestamp: '2021-02-03T04:05:06.000Z' };
    const properties = { $set: { plan: 'trial', city: 'Oslo' }, $set_once: { first_page: '/then' } };
    await send([{ ...old, properties }], true);
    const page = await apiGet<PersonAnswer>(server, `/api/projects/@current/persons/?distinct_id=${person}`);
    expect(page.results).toHaveLength(1);
    expect(page.results[0]).toMatchObject({
      created_at: '2021-02-03T04:05:06.000000Z',
      properties: { plan: 'team', city: 'Oslo', first_page: '/then' },
    });
  });
});

describe('text that looks like SQL', () => {
  const hostile = [
    '\n\nTRUNCATE TABLE events',
    "'; DROP TABLE events; --",
    '\\N\t\\t"quoted"\t\'single\'',
    'back\\slash \\\' \\" \u2028 \u{1f600}',
    '{x:String} ${x} %s `tick`',
  ];

  it('in every string field is returned byte for byte and leaves the table intact', async () => {
    const before = standard + historical;
    const batch = hostile.flatMap((text) => [
      {
        event: `e ${text}`,
        distinct_id: `d ${text}`,
        uuid: randomUUID(),
        timestamp: '2023-05-06T07:08:09Z',
        properties: { [`k ${text}`]: text, nested: { [text]: [text] }, $set: { [text]: text } },
      },
    ]);
    await send(batch, true);
    expect(standard + historical).toBe(before + batch.length);
    for (const sent of batch) {
      const query = `event=${encodeURIComponent(sent.event)}&distinct_id=${encodeURIComponent(sent.distinct_id)}`;
      const page = await apiGet<{ results: object[] }>(server, `/api/projects/@current/events/?${query}`);
      expect(page.results).toHaveLength(1);
      expect(page.results[0]).toMatchObject({
        id: sent.uuid,
        event: sent.event,
        distinct_id: sent.distinct_id,
        properties: sent.properties,
      });
    }
  });
});

it('400 distinct months in one body are stored, each at its own time', async () => {
  const batch = Array.from({ length: 400 }, (_, index) => ({
    event: 'monthly',
    distinct_id: 'calendar',
    uuid: randomUUID(),
    timestamp: new Date(Date.UTC(1990, index, 15)).toISOString(),
  }));
  await send(batch, true);
  const page = await apiGet<{ results: { id: string; timestamp: string }[] }>(
    server,
    '/api/projects/@current/events/?event=monthly&limit=1000',
  );
  const stored = new Map(page.results.map((row) => [row.id, row.timestamp]));
  expect(batch.map((event) => stored.get(event.uuid))).toEqual(
    batch.map((event) => event.timestamp.replace('.000Z', '.000000Z')),
  );
});

it('sending the same history again changes nothing', async () => {
  const batch = [
    { event: 'once', distinct_id: 'again', timestamp: '2020-01-02T03:04:05Z', properties: { n: 1 } },
    { event: 'once', distinct_id: 'again', timestamp: '2020-01-02T03:04:05Z', properties: { n: 1 } },
  ];
  await send(batch, true);
  const root = { api_key: projectKey, batch, historical_migration: true };
  for (let time = 0; time < 2; time++) {
    await fetch(`${server.url}/batch/`, { method: 'POST', body: JSON.stringify(root) });
  }
  await send([{ event: 'fence', distinct_id: 'x', uuid: randomUUID(), timestamp: '2020-01-02T03:04:05Z' }], true);
  const usage = await apiGet<{ total: object }>(server, '/api/projects/@current/usage/');
  expect(usage.total).toEqual({ standard, historical });
});
