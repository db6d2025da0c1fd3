/**
 * Real: the whole program as a process, its process of imports, SQLite, chDB, files, HTTP. Doubled: nothing.
 * Observed: what the API reads back. What the format's reader makes of the records is the oracle.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import {
  apiSend,
  createFilesConfig,
  eventsOfRecords,
  expectExactRun,
  expectStored,
  loadsEvents,
  identityOf,
  startImport,
  untilRun,
  writeRecords,
  type ImportedEvent,
} from '../support/import-runs.ts';
import { readAllEvents } from '../support/ledger.ts';
import {
  apiGet,
  personalKey,
  projectKey,
  startServer,
  tempDataDir,
  untilStored,
  type TestServer,
} from '../support/server.ts';
import { untilDrained } from '../../tools/bench/server.ts';

let server: TestServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;

/** The service as `describe` finds it: empty. */
function withServer(env: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    dataDir = await tempDataDir();
    server = await startServer(dataDir.path, env);
  });
  afterAll(async () => {
    await server.terminate();
    await dataDir[Symbol.asyncDispose]();
  });
}

/** Two exports whose ranges, of eight hours each, overlap around midnight. */
async function writeOverlapping(): Promise<{ first: Export; second: Export }> {
  const records = [...mixpanelRecords(20_261_122, 16_000)];
  const exportOf = async (name: string, from: number, to: number): Promise<Export> => {
    const own = records.slice(from, to);
    const paths = await writeRecords(dataDir.path, name, own);
    return {
      config: await createFilesConfig(server, { paths, format: 'mixpanel' }),
      events: eventsOfRecords('mixpanel', own),
    };
  };
  return {
    first: await exportOf('first.json.gz', 9000, 13_000),
    second: await exportOf('second.json.gz', 12_000, 16_000),
  };
}

interface Export {
  readonly config: string;
  readonly events: readonly ImportedEvent[];
}

function timesByIdentity({ events }: Export): Map<string, string> {
  return new Map(events.map((event) => [identityOf(event), event.timestamp]));
}

/** Whether an `$identify` of these ids is there on another day. */
function isAmong(identity: string, events: readonly ImportedEvent[]): boolean {
  const link = identity.slice(identity.indexOf(' '));
  return link.startsWith(' $identify ') && events.some((event) => identityOf(event).endsWith(link));
}

describe('imports one after the other', () => {
  withServer({});

  it('of overlapping ranges, and again: each event is stored once, every report adds up and states what was already stored', async () => {
    const { first, second } = await writeOverlapping();
    const before = await expectExactRun(server, await startImport(server, first.config));
    expect(before.verify).toMatchObject({ stored_by_others: 0, other_times: 0 });

    const [there, own] = [timesByIdentity(first), timesByIdentity(second)];
    const shared = [...own.keys()].filter((identity) => there.has(identity));
    const after = await expectExactRun(server, await startImport(server, second.config));
    const stored = await expectStored(server, [first.events, second.events]);
    const links = stored.filter(({ event }) => event === '$identify').map(({ uuid }) => uuid);
    expect(links).toHaveLength(new Set(links).size);
    const elsewhere = [...own.keys()].filter((identity) => !there.has(identity) && isAmong(identity, first.events));
    expect(elsewhere.length).toBeGreaterThan(0);
    expect(Number(after.run.totals['duplicates'])).toBe(elsewhere.length);
    expect(shared.length).toBeGreaterThan(900);
    expect(after.verify.stored_by_others).toBe(shared.length);
    expect(after.report.totals.events.stored_by_others).toBe(shared.length);
    expect(after.report.summary).toContain(
      `${shared.length.toLocaleString('en')} of them were stored before, by another import`,
    );
    // A link of two ids stands where its run first sees the pair: the later run sees some of them later that day.
    const moved = shared.filter((identity) => there.get(identity) !== own.get(identity));
    expect(moved.length).toBeGreaterThan(0);
    expect(after.verify.other_times).toBe(moved.length);
    expect(after.verify.differences.map(({ kind, event }) => [kind, event])).toEqual(
      moved.map(() => ['earlier', '$identify']),
    );

    const again = await expectExactRun(server, await startImport(server, first.config));
    await expectStored(server, [first.events, second.events]);
    expect(again.verify).toMatchObject({ stored_by_others: again.verify.expected, other_times: 0 });
    await untilDrained(server.url, 60_000);
    const { total } = await apiGet<{ total: object }>(server, '/api/projects/@current/usage/');
    expect(total).toEqual({ standard: 0, historical: stored.length });
  });
});

describe('imports at the same time', () => {
  withServer({ MILLRACE_IMPORT_RUNS: '3' });
  /** So that they are still at it when the service is killed. */
  const slowly = { events_per_second: 2000 };

  it('two of one config and an overlapping one, and kill -9 while they load: each event is stored once and has one owner, each run is exact', async () => {
    const { first, second } = await writeOverlapping();
    const runs = await Promise.all([first, second, first].map(({ config }) => startImport(server, config, slowly)));
    const [one = ''] = runs;
    await untilRun(server, one, loadsEvents);
    await server.kill();
    server = await startServer(dataDir.path, { MILLRACE_IMPORT_RUNS: '3' });
    const results = await Promise.all(runs.map((run) => expectExactRun(server, run)));
    const stored = await expectStored(server, [first.events, second.events]);
    const owned = results.map(({ verify }) => verify.found - (verify.stored_by_others ?? 0));
    expect(owned.reduce((sum, count) => sum + count, 0)).toBe(stored.length);
    const byRun = new Map<unknown, number>();
    for (const { properties } of await readAllEvents(server)) {
      const run = properties['$import_run_id'];
      byRun.set(run, (byRun.get(run) ?? 0) + 1);
    }
    expect(results.map(({ run }) => byRun.get(run.id) ?? 0)).toEqual(owned);
  });
});

describe('imports that are all checked before the first one is loaded', () => {
  withServer({ MILLRACE_IMPORT_RUNS: '2' });

  it('store a link of two ids that both found once', async () => {
    const { first, second } = await writeOverlapping();
    const runs = [first, second].map(({ config }) => startImport(server, config, { last: 'check' }));
    const paths = await Promise.all(runs);
    for (const path of paths) await untilRun(server, path, ({ state }) => state === 'completed');
    await Promise.all(paths.map((path) => apiSend(server, 'POST', `${path}resume/`)));
    for (const path of paths) await expectExactRun(server, path);
    const stored = await expectStored(server, [first.events, second.events]);
    expect(stored.filter(({ event }) => event === '$identify').length).toBeGreaterThan(900);
  });
});

const people = 60;
const historyCount = 3000;
const historyStart = Date.UTC(2021, 0, 1);
/** Forty days, evenly. */
const historyStepMs = 1_152_000;

interface LiveEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Every event says something about its person. */
function historyEvent(index: number): LiveEvent {
  return {
    uuid: `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`,
    event: `did ${index % 7}`,
    distinct_id: `person-${index % people}`,
    timestamp: historyTime(index),
    properties: {
      n: index,
      $set: { plan: 'trial', city: `city ${index}` },
      $set_once: { first_page: `/page-${index}` },
    },
  };
}

function historyTime(index: number): string {
  return new Date(historyStart + index * historyStepMs).toISOString();
}

/** History says that a device is a person's, which live data does not know. */
function historyLink(index: number): LiveEvent {
  return {
    uuid: `00000000-0000-4000-9000-${index.toString(16).padStart(12, '0')}`,
    event: '$identify',
    distinct_id: `person-${index}`,
    timestamp: historyTime(historyCount / 2 + index),
    properties: { $anon_distinct_id: `device-${index}` },
  };
}

/** What every person does now, and at first their devices; sent as the libraries for servers do. */
function seenNow(round: number): LiveEvent[] {
  const seen = (id: string, $set: object): LiveEvent => ({
    uuid: randomUUID(),
    event: 'seen',
    distinct_id: id,
    timestamp: new Date().toISOString(),
    properties: { $lib: 'posthog-node', $set, $set_once: { first_page: '/now' } },
  });
  const persons = Array.from({ length: people }, (_, index) => seen(`person-${index}`, { plan: `live ${round}` }));
  if (round > 0) return persons;
  return [...persons, ...Array.from({ length: people }, (_, index) => seen(`device-${index}`, { device: 'phone' }))];
}

async function sendLive(batch: readonly LiveEvent[], sentAt: Date = new Date()): Promise<void> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: projectKey, batch, sent_at: sentAt.toISOString() }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, '{"status":"Ok"}']);
}

/** Copies of the history among live events, before, during and after. */
const copies = {
  before: Array.from({ length: 200 }, (_, index) => historyEvent(index * 3)),
  /** From a machine whose clock is two minutes slow, so that other times are stored. */
  skewed: Array.from({ length: 100 }, (_, index) => historyEvent(1000 + index * 3)),
  during: Array.from({ length: 400 }, (_, index) => historyEvent(1400 + index * 4)),
  after: Array.from({ length: 200 }, (_, index) => historyEvent(1 + index * 3)),
};

describe('an import over live data', () => {
  withServer({});

  it('of the same persons, partly sent live before, during and after: nothing is doubled, newer properties stay', async () => {
    const history = [
      ...Array.from({ length: historyCount }, (_, index) => historyEvent(index)),
      ...Array.from({ length: people }, (_, index) => historyLink(index)),
    ];
    const live = new Map<string, LiveEvent>();
    const sendSeen = async (round: number): Promise<void> => {
      const batch = seenNow(round);
      for (const event of batch) live.set(event.uuid, event);
      await sendLive(batch);
    };
    await sendSeen(0);
    await sendLive(copies.before);
    await sendLive(copies.skewed, new Date(Date.now() - 120_000));
    await untilStored(server, { standard: 2 * people + copies.before.length + copies.skewed.length });

    const paths = await writeRecords(dataDir.path, 'history.json.gz', history);
    const config = await createFilesConfig(server, { paths, format: 'posthog' });
    const run = await startImport(server, config, { events_per_second: 1000 });
    await untilRun(server, run, ({ stage }) => stage === 'load');
    let round = 0;
    for (let isLoading = true; isLoading; isLoading = (await apiGet<{ stage: string }>(server, run)).stage === 'load') {
      await sendLive(copies.during.slice((round % 40) * 10, (round % 40) * 10 + 10));
      await sendSeen((round += 1));
      await delay(150);
    }
    const { verify } = await expectExactRun(server, run);
    await sendSeen((round += 1));
    await sendLive(copies.after);
    expect(round).toBeGreaterThan(3);

    await untilRows(history.length + live.size);
    const rows = await readAllEvents(server);
    const expected = new Map([...history, ...live.values()].map((event) => [event.uuid, event]));
    expect(rows).toHaveLength(expected.size);
    expect(new Map(rows.map(({ id, event, distinct_id }) => [id, `${event} ${distinct_id}`]))).toEqual(
      new Map([...expected].map(([id, { event, distinct_id }]) => [id, `${event} ${distinct_id}`])),
    );
    const firstLive = copies.before.length + copies.skewed.length;
    expectOwners(rows, live);
    expect(verify.stored_by_others).toBeGreaterThanOrEqual(firstLive);
    expect(verify.stored_by_others).toBeLessThanOrEqual(firstLive + copies.during.length);
    expect(verify.other_times).toBeGreaterThanOrEqual(copies.skewed.length);
    await untilDrained(server.url, 60_000);
    const { total } = await apiGet<{ total: object }>(server, '/api/projects/@current/usage/');
    const standard = rows.filter((row) => !row.historical_migration).length;
    expect(total).toEqual({ standard, historical: rows.length - standard });
    await expectPeople(round);
  });
});

async function untilRows(count: number): Promise<void> {
  const total = async (): Promise<number> => {
    const { total } = await apiGet<{ total: { standard: number; historical: number } }>(
      server,
      '/api/projects/@current/events/counts/',
    );
    return total.standard + total.historical;
  };
  for (const deadline = Date.now() + 120_000; (await total()) !== count && Date.now() < deadline;) await delay(100);
}

/** Live events and copies sent before them are standard, events only imported or copied later are historical. */
function expectOwners(rows: Awaited<ReturnType<typeof readAllEvents>>, live: ReadonlyMap<string, LiveEvent>): void {
  const kinds = new Map(rows.map(({ id, historical_migration: historical }) => [id, historical]));
  const during = new Set(copies.during.map(({ uuid }) => uuid));
  const first = new Set([...copies.before, ...copies.skewed].map(({ uuid }) => uuid));
  const wrong = [...kinds].filter(([uuid, historical]) => {
    if (live.has(uuid) || first.has(uuid)) return historical;
    return !historical && !during.has(uuid);
  });
  expect(wrong).toEqual([]);
}

async function expectPeople(round: number): Promise<void> {
  for (let index = 0; index < people; index += 1) {
    const { results } = await apiGet<{ results: object[] }>(
      server,
      `/api/projects/@current/persons/?distinct_id=device-${index}`,
    );
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({
      distinct_ids: expect.arrayContaining([`person-${index}`, `device-${index}`]) as string[],
      created_at: historyTime(index).replace('Z', '000Z'),
      properties: {
        plan: `live ${round}`,
        device: 'phone',
        city: `city ${historyCount - people + index}`,
        first_page: `/page-${index}`,
      },
    });
  }
}

describe('a trial', () => {
  withServer({ MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });

  it('is loaded into a test project; promoted, everything is loaded into the real one, each exact and separate', async () => {
    const records = [...mixpanelRecords(20_261_123, 5000)];
    await writeRecords(dataDir.path, 'trial/a.json.gz', records.slice(0, 3000));
    await writeRecords(dataDir.path, 'trial/b.json.gz', records.slice(3000));
    const test = await apiSend<{ id: number; api_token: string }>(server, 'POST', '/api/projects/', { name: 'Test' });
    const target = {
      target_url: server.url,
      target_api_key: test.api_token,
      target_personal_api_key: personalKey,
    };
    const paths = `${dataDir.path}/import-files/trial`;
    const config = await createFilesConfig(server, { paths, format: 'mixpanel', ...target });
    const trial = await startImport(server, config, { limit: 3500 });
    const tried = await expectExactRun(server, trial);
    expect(tried.report.totals.records.read).toBe(3500);
    const some = eventsOfRecords('mixpanel', records.slice(0, 3500));
    await expectStored(server, [some], test.id);
    await expectStored(server, [[]]);

    await apiSend(server, 'PATCH', `${config}settings/`, {
      target_url: '',
      target_api_key: '',
      target_personal_api_key: '',
    });
    const { id } = await apiSend<{ id: string }>(server, 'POST', `${trial}promote/`);
    const full = await expectExactRun(server, `${config}runs/${id}/`);
    expect(full.report.totals.records.read).toBe(records.length);
    expect(full.verify.stored_by_others).toBe(0);
    await expectStored(server, [eventsOfRecords('mixpanel', records)]);
    await expectStored(server, [some], test.id);
  });
});
