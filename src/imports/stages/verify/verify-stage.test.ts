import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../../test/support/app.ts';
import { importedEventsRoutes } from '../../../server/api/imported-counts.ts';
import { projectRoutes } from '../../../server/api/projects.ts';
import { createPick, exactValue } from '../../../../test/support/exact-values.ts';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { eventsOf, expectedOf, rowsOf, uuidOf, type TestEvent } from '../../../../test/support/staged-days.ts';
import { exactNumberFrom, parseExactValues } from '../../../base/exact-json.ts';
import { TargetWaitError, type StoredCount, type Target } from '../../target.ts';
import { openHttpTarget } from '../../targets/http-target.ts';
import type { HttpRequest } from '../../targets/http-request.ts';
import { loadRun, type LoadedRun } from '../../../../test/support/loaded-run.ts';
import type { RunStore } from '../../../stores/events/run-tables.ts';
import type { SentEvent } from '../../../../test/support/batch-service.ts';
import { createStoreInserter } from '../../../../test/support/store-ingest.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

function load(...args: AfterStore<Parameters<typeof loadRun>>): Promise<LoadedRun> {
  return loadRun(chdb.store, ...args);
}
type AfterStore<Args> = Args extends readonly [RunStore, ...infer Rest] ? Rest : never;

const at = (events: readonly TestEvent[], n: number): TestEvent => {
  const event = events[n];
  if (event === undefined) throw new Error(`expected an event ${n}`);
  return event;
};

describe('verifying what a project stored', () => {
  it('is exact if everything is stored, also if others store events of the same names', async () => {
    await using loaded = await load();
    const others = eventsOf('run-0', '2024-03-01', 90);
    await loaded.insert(others);
    await loaded.insert(
      others.slice(0, 5).map((event) => Object.assign({}, event, { uuid: uuidOf(event.uuid), properties: {} })),
    );
    expect(await loaded.verify()).toEqual({
      verdict: 'exact',
      detail: 'All 320 events of 2 days are stored with the expected id, time, name and properties.',
      expected: 320,
      found: 320,
      stored_by_others: 0,
      stored_by: [],
      other_times: 0,
      other_properties: 0,
      transformed: 0,
      cells: [],
      differences: [],
      truncated: 0,
    });
    expect(loaded.test.run.totals.verified).toBe(320);
    expect([...loaded.test.days.values()].map(({ verified }) => verified)).toEqual([true, true]);
    expect(loaded.test.run.progress.verify).toMatchObject({ partsDone: 2, done: 320, total: 320 });
  });

  it('counts events as found that another run or live capture had stored before', async () => {
    const there = eventsOf('run-1', '2024-03-01', 40).map((event, n) =>
      Object.assign({}, event, { properties: n % 2 === 0 ? { $import_run_id: 'run-0' } : {} }),
    );
    await using loaded = await load(undefined, (insert) => insert(there));
    const result = await loaded.verify();
    expect(result).toMatchObject({ verdict: 'exact', expected: 320, found: 320, stored_by_others: 40, other_times: 0 });
    expect(new Set(result.stored_by)).toEqual(
      new Set([
        { run: 'run-0', source: null, created_at: null, events: 20 },
        { run: null, source: null, created_at: null, events: 20 },
      ]),
    );
    expect(result).toMatchObject({ cells: [], differences: [], truncated: 0 });
    expect(result.detail).toContain(' 40 of them are stored by another import or by live capture');
    // The numbers of such a day are stored only in the result.
    expect([...loaded.test.days.values()].map(({ verified }) => verified)).toEqual([false, true]);
    expect(await loaded.verify()).toEqual(result);
  });

  it('an event that was stored first elsewhere with another time stays, is listed, and is no fault of the run', async () => {
    const [one, other] = eventsOf('run-1', '2024-03-01', 2);
    if (one === undefined || other === undefined) throw new Error('expected two events');
    await using loaded = await load(undefined, (insert) =>
      insert([
        { ...one, timestamp: '2024-03-01T05:00:00.000001Z', properties: {} },
        { ...other, timestamp: '2024-03-01T06:00:00.000002Z', properties: { $import_run_id: 'run-0' } },
      ]),
    );
    const result = await loaded.verify();
    expect(result).toMatchObject({ verdict: 'exact', found: 320, stored_by_others: 2, other_times: 2, truncated: 0 });
    expect(result.cells).toEqual([]);
    expect(result.detail).toContain(
      "of these 2 keep the time that was stored first, which differs from this run's, 2 keep",
    );
    const expected = ({ timestamp }: TestEvent, by: string, at: string): string =>
      `Expected the time ${timestamp}; it was stored ${by} at ${at}, which stays.`;
    expect(new Map(result.differences.map(({ kind, uuid, detail }) => [`${kind} ${uuid}`, detail]))).toEqual(
      new Map([
        [`earlier ${one.uuid}`, expected(one, 'outside of imports', '2024-03-01T05:00:00.000001Z')],
        [`earlier ${other.uuid}`, expected(other, 'by the import run run-0', '2024-03-01T06:00:00.000002Z')],
      ]),
    );
  });

  it('killed after any day or write and resumed, finds the same', async () => {
    await using loaded = await load(
      (events) => events.filter(({ uuid }) => uuid !== uuidOf('run-1 2024-03-01 7')),
      (insert) =>
        insert(eventsOf('run-1', '2024-03-01', 3).map((event) => Object.assign({}, event, { properties: {} }))),
    );
    const whole = await loaded.verify();
    expect(whole).toMatchObject({ verdict: 'different', found: 319, stored_by_others: 3 });
    await loaded.test.hold().leased.resetDays('verified');
    const killedAt: string[] = [];
    // Each attempt gets one step further.
    for (let steps = 0; ; steps += 1) {
      let done = 0;
      const failpoint = (name: string): void => {
        done += 1;
        if (done <= steps) return;
        killedAt.push(name);
        throw new Error('killed');
      };
      const outcome = await loaded.verify({ failpoint }).catch((error: unknown) => error);
      if (outcome instanceof Error && outcome.message === 'killed') continue;
      expect(outcome).toEqual(whole);
      break;
    }
    expect(new Set(killedAt)).toEqual(
      new Set(['import_verify_compared', 'import_verify_committed', 'import_verify_written']),
    );
  });

  it("a difference that cannot be named, because the run's table is missing, fails the run with what to do", async () => {
    await using loaded = await load((events) => events.slice(1));
    await chdb.store.runTables.drop({ projectId: loaded.test.run.projectId, runId: 'run-1' });
    await expect(loaded.verify()).rejects.toMatchObject({ name: 'RunFailedError', advice: 'startAgain' });
  });

  it('names every event that is missing, changed or unexpected', async () => {
    const events = eventsOf('run-1', '2024-03-01', 300);
    const [lost, late, renamed, other] = [at(events, 30), at(events, 31), at(events, 32), at(events, 33)];
    const extra = { ...at(events, 34), uuid: uuidOf('extra') };
    await using loaded = await load((batch) =>
      batch.flatMap((event): SentEvent[] => {
        if (event.uuid === lost.uuid) return [extra];
        if (event.uuid === late.uuid) return [{ ...event, timestamp: '2024-03-01T23:00:00.000001Z' }];
        if (event.uuid === renamed.uuid) return [{ ...event, event: 'renamed' }];
        return [event.uuid === other.uuid ? { ...event, distinct_id: 'another' } : event];
      }),
    );
    const result = await loaded.verify({ activeTransformations: async () => ['Property filter'] });
    expect(result).toMatchObject({ verdict: 'different', expected: 320, found: 316, truncated: 0 });
    expect(result.detail).toContain('316 of 320');
    expect(result.detail).toContain('Property filter');
    expect(new Map(result.differences.map(({ kind, uuid, detail }) => [`${kind} ${uuid}`, detail]))).toEqual(
      new Map([
        [`missing ${lost.uuid}`, 'Expected at 2024-03-01T00:00:00.300030Z; it is not stored.'],
        [
          `changed ${late.uuid}`,
          'Expected the time 2024-03-01T00:00:00.310031Z, stored is 2024-03-01T23:00:00.000001Z.',
        ],
        [`changed ${renamed.uuid}`, `Expected the name ${renamed.event}, stored is renamed.`],
        [`changed ${other.uuid}`, `Expected the distinct_id ${other.distinct_id}, stored is another.`],
        [
          `unexpected ${extra.uuid}`,
          'Stored by this run at 2024-03-01T00:00:00.340034Z; it is not among the events that were to be loaded.',
        ],
      ]),
    );
    // One is missing and one changed its id; an unexpected event counts under its name.
    expect(result.cells).toEqual([
      { day: '2024-03-01', event: 'left "early"', expected: 100, found: 99 },
      { day: '2024-03-01', event: 'paid', expected: 100, found: 100 },
      { day: '2024-03-01', event: 'viewed', expected: 100, found: 98 },
    ]);
    expect(loaded.test.days.get('2024-03-01')?.verified).toBe(false);
    expect(loaded.test.days.get('1969-12-30')?.verified).toBe(true);
  });

  /** Adds properties with more digits than a JavaScript number holds. */
  const priced = (event: TestEvent): TestEvent => ({
    ...event,
    properties: {
      order: { items: [{ price: exactNumberFrom(`1234567890123456789${String(event.properties['n'])}`) }] },
      ...event.properties,
    },
  });
  const altering = (uuid: string, change: (json: string) => string) => (batch: readonly SentEvent[]) =>
    batch.map((event) =>
      event.uuid === uuid ? (parseExactValues(change(JSON.stringify(event))) as unknown as SentEvent) : event,
    );
  const seventh = uuidOf('run-1 2024-03-01 7');

  it('one altered digit in the store is found, and the event is named', async () => {
    const plant = altering(seventh, (json) => json.replace('12345678901234567897', '12345678901234567890'));
    await using loaded = await load(plant, undefined, priced);
    const result = await loaded.verify();
    expect(result).toMatchObject({ verdict: 'different', expected: 320, found: 319, truncated: 0 });
    expect(result.differences).toEqual([
      {
        kind: 'changed',
        day: '2024-03-01',
        event: 'paid',
        uuid: seventh,
        distinct_id: 'person-7-ü',
        detail: 'Expected the property order.items[0].price 12345678901234567897, stored is 12345678901234567890.',
      },
    ]);
    expect(result.cells).toEqual([{ day: '2024-03-01', event: 'paid', expected: 100, found: 99 }]);
    expect(loaded.test.days.get('2024-03-01')?.verified).toBe(false);
  });

  describe('10,000 events with digits, depth and characters of every plane', () => {
    const counts = { '2024-03-01': 9_700, '1969-12-30': 300 };
    const withUnusualValues = (): ((event: TestEvent) => TestEvent) => {
      const pick = createPick(7);
      return (event) => ({
        ...event,
        properties: { value: parseExactValues(exactValue(pick)), ...priced(event).properties },
      });
    };

    it('have the same checksum in store and program, except for one altered digit, whose event is named', async () => {
      const uuid = uuidOf('run-1 2024-03-01 8191');
      const plant = altering(uuid, (json) => json.replace('12345678901234567898191', '12345678901234567898192'));
      await using loaded = await load(plant, undefined, withUnusualValues(), counts);
      const result = await loaded.verify();
      expect(result).toMatchObject({ verdict: 'different', expected: 10_000, found: 9_999, truncated: 0 });
      expect(result.differences).toMatchObject([
        {
          kind: 'changed',
          uuid,
          detail:
            'Expected the property order.items[0].price 12345678901234567898191, stored is 12345678901234567898192.',
        },
      ]);
    });
  });

  it('the same properties in another order and spelling are not a difference', async () => {
    const respell = altering(seventh, (json) =>
      json
        .replace(/"order":(.*?),"n":7,/, '"n":7.0,"order":$1,')
        .replace('12345678901234567897', '1234567890123456789.7e1'),
    );
    await using loaded = await load(respell, undefined, priced);
    expect(await loaded.verify()).toMatchObject({ verdict: 'exact', found: 320, differences: [] });
  });

  it('properties that active transformations may have changed are exact by id, and the verdict says what was compared', async () => {
    await using loaded = await load((batch) =>
      batch.map((event) => ({ ...event, properties: { $geoip_city_name: 'Lyon', ...event.properties } })),
    );
    const activeTransformations = async () => ['GeoIP'];
    // No single events are read while every identity is stored.
    const dayEvents = () => expect.unreachable('a read of single events');
    const target: Target = { ...loaded.target, reader: { ...loaded.reader, dayEvents } };
    const result = await loaded.verify({ activeTransformations, target });
    expect(result).toMatchObject({ verdict: 'exact_by_id', found: 320, transformed: 320, differences: [], cells: [] });
    expect(result.detail).toMatch(/^All 320 .* and name; 320 of them .* \(GeoIP\)\.$/);
    // Without transformations the same is a fault of each event.
    const without = await loaded.verify();
    expect(without).toMatchObject({ verdict: 'different', found: 0 });
    expect(without.differences[0]?.detail).toBe('Expected no property $geoip_city_name, stored is "Lyon".');
  });

  it('transformations that change nothing leave the verdict exact', async () => {
    await using loaded = await load();
    const activeTransformations = async () => ['GeoIP'];
    expect(await loaded.verify({ activeTransformations })).toMatchObject({ verdict: 'exact', transformed: 0 });
  });

  it('a target without a checksum of properties is exact by id', async () => {
    await using loaded = await load();
    const { reader } = loaded;
    const older: Target = {
      ...loaded.target,
      reader: {
        ...reader,
        daysCounts: undefined,
        dayCounts: async (day, signal, contents) =>
          new Map(
            [...(await reader.dayCounts(day, signal, contents))].map(([event, { count, checksum }]) => [
              event,
              { count, checksum },
            ]),
          ),
      },
    };
    const result = await loaded.verify({ target: older });
    expect(result).toMatchObject({ verdict: 'exact_by_id', found: 320, differences: [] });
    expect(result.detail).toContain('their properties were not compared');
    expect([...loaded.test.days.values()].map(({ verified }) => verified)).toEqual([false, false]);
  });

  it('a run that an earlier version checked is exact too, by the checksum that it has', async () => {
    await using loaded = await load();
    for (const [day, state] of loaded.test.days) {
      const events = loaded.events.filter(({ timestamp }) => timestamp.startsWith(day));
      loaded.test.days.set(day, {
        ...state,
        expected: JSON.stringify(expectedOf(rowsOf(loaded.test.run, events), 'md5')),
      });
    }
    expect(await loaded.verify()).toMatchObject({ verdict: 'exact', found: 320 });
    const [first] = loaded.test.days.values();
    if (first === undefined) throw new Error('expected a day');
    const { viewed, ...others } = JSON.parse(first.expected) as Record<string, StoredCount>;
    const wrong = { ...others, viewed: { ...viewed, content: '0123456789abcdef' } };
    loaded.test.days.set(first.day, { ...first, verified: false, expected: JSON.stringify(wrong) });
    // The checksum is wrong, but each event is right.
    expect(await loaded.verify()).toMatchObject({ verdict: 'exact', found: 320, differences: [] });
  });

  it('does not wait for events that are stored under the mark of another run', async () => {
    const there = eventsOf('run-1', '2024-03-01', 40).map((event) =>
      Object.assign({}, event, { properties: { $import_run_id: 'run-0' } }),
    );
    await using loaded = await load(undefined, (insert) => insert(there));
    const target = { ...loaded.target, lagMs: 60_000 };
    const result = await loaded.verify({ target });
    expect(result).toMatchObject({ verdict: 'exact', found: 320, stored_by_others: 40 });
    expect(loaded.test.waits).toEqual([]);
  });

  it('waits while the store cannot be read, and repeats reads that lag behind', async () => {
    let late: readonly SentEvent[] = [];
    await using loaded = await load((batch) => {
      if (late.length > 0) return batch;
      late = batch.slice(0, 10);
      return batch.slice(10);
    });
    const { target, reader, insert, test } = loaded;
    let reads = 0;
    const slow: Target = {
      ...target,
      lagMs: 20_000,
      reader: {
        ...reader,
        daysCounts: undefined,
        dayCounts: async (day, signal, contents) => {
          reads += 1;
          if (reads === 1) throw new TargetWaitError('the event store is busy');
          if (reads === 4) await insert(late);
          return reader.dayCounts(day, signal, contents);
        },
      },
    };
    expect(await loaded.verify({ target: slow })).toMatchObject({ verdict: 'exact', found: 320 });
    expect(test.waits[0]?.reason).toMatch(/^the event store is busy; trying again at /);
    expect(test.waits[1]?.reason).toMatch(
      /^comparing \d{4}-\d\d-\d\d again, because the target may not return everything/,
    );
  });
});

describe('verifying what another service stored', () => {
  let app: TestApp;
  let transformations = 0;
  beforeAll(async () => {
    app = await startTestApp((db, { clock }) => [
      ...importedEventsRoutes({ store: chdb.store, activeTransformations: async () => transformations }),
      ...projectRoutes({ db, clock, forgetProject: () => {} }),
    ]);
  });
  afterAll(() => app[Symbol.asyncDispose]());

  function httpTarget(personalApiKey: string | undefined, apiKey = app.project.apiToken): Target {
    const request: HttpRequest = async ({ url, method, headers }) => {
      const response = await app.inject({ method, url: url.slice('http://other.test'.length), headers });
      return { status: response.statusCode, text: response.body, retryAfterMs: 0 };
    };
    return openHttpTarget({ url: 'http://other.test', apiKey, personalApiKey, runId: 'run-1', request, lagMs: 0 });
  }

  it('reads counts, events and properties over the API, and detects transformations there', async () => {
    const insert = createStoreInserter(chdb.store, app.project.id);
    await using loaded = await load();
    const { uuid } = at(loaded.events, 19);
    const plant = (event: TestEvent): TestEvent =>
      event.uuid === uuid ? { ...event, properties: { ...event.properties, text: 'one line' } } : event;
    await insert(loaded.events.filter((_event, n) => n !== 17).map(plant));
    await insert([{ ...at(loaded.events, 18), uuid: uuidOf('live'), properties: {} }]);
    const target = httpTarget(await app.key(['query:read', 'project:read']));
    const result = await loaded.verify({ target });
    expect(result).toMatchObject({ verdict: 'different', expected: 320, found: 318 });
    expect(result.differences).toMatchObject([
      { kind: 'missing', uuid: at(loaded.events, 17).uuid },
      { kind: 'changed', uuid, detail: 'Expected the property text "two\\nlines", stored is "one line".' },
    ]);
    await insert([at(loaded.events, 17)]);
    transformations = 1;
    expect(await loaded.verify({ target })).toMatchObject({ verdict: 'exact_by_id', found: 320, transformed: 100 });
    transformations = 0;
  });

  it('says what to provide if the target cannot be read', async () => {
    await using loaded = await load();
    const outcomes = [
      await loaded.verify({ target: httpTarget(undefined) }),
      await loaded.verify({ target: httpTarget(await app.key(['person:read'])) }),
      await loaded.verify({ target: httpTarget(await app.key(['query:read', 'project:read']), 'phc_unknown') }),
    ];
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(['unreadable', 'unreadable', 'unreadable']);
    expect(outcomes[0]?.detail).toContain('personal API key');
    expect(outcomes[1]?.detail).toContain('query:read and project:read');
    expect(outcomes[2]?.detail).toContain('give a key that can read it');
    expect(JSON.stringify(outcomes)).not.toContain('phc_unknown');
  });

  it('rejects an invalid cursor, day or name, naming the field', async () => {
    const headers = { authorization: `Bearer ${await app.key(['query:read'])}` };
    const get = (path: string) =>
      app.inject({ method: 'GET', url: `/api/projects/${app.project.id}/events/${path}`, headers });
    for (const [path, attr] of [
      ['imported_counts/?day=2024-02-30&run=r', 'day'],
      ['imported_counts/?day=1-1-1&run=r', 'day'],
      ['imported_events/?day=2024-02-01&event=e&cursor=x', 'cursor'],
      ['imported_events/?day=2024-02-01', 'event'],
      ['imported_events/?day=2024-02-01&events=[1]', 'events'],
    ] as const) {
      const response = await get(path);
      expect([path, response.statusCode, response.json<{ attr: string }>().attr]).toEqual([path, 400, attr]);
    }
  });
});
