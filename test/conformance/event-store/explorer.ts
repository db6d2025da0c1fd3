import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMicros, insertRows, newProject, testRow, type StoreUnderTest } from './event-store.ts';
import { countEvents, usageByDay } from '../../../src/stores/events/counts.ts';
import type { EventStore } from '../../../src/stores/events/eventstore.ts';
import type { EventFilter, PropertyFilter } from '../../../src/stores/events/filters.ts';
import { KeptCounts } from '../../../src/stores/events/kept-counts.ts';
import { listOldestFirst } from '../../../src/stores/events/list-oldest-first.ts';
import { isoOfMicros, parseMicros } from '../../../src/stores/events/micros.ts';
import { listEvents, type EventKey, type StoredEvent } from '../../../src/stores/events/reads.ts';
import type { EventRow } from '../../../src/stores/events/rows.ts';

const nowMicros = micros('2024-10-01');

function micros(text: string): bigint {
  const found = parseMicros(text);
  if (found === undefined) throw new TypeError(`expected a time, got ${text}`);
  return found;
}

function rowAt(project: number, time: bigint, more: Partial<EventRow> = {}): EventRow {
  const timestampMicros = Number(time);
  return testRow(project, { timestampMicros, keyDay: Math.floor(timestampMicros / dayMicros), ...more });
}

/** Queries of the event explorer, on any adapter. */
export function explorerConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`exploring: ${name}`, () => {
    let under: StoreUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => under.close());

    filterTests(() => under.store);
    orderTests(() => under.store);
    chartTests(() => under.store);
  });
}

function filterTests(store: () => EventStore): void {
  const property = (key: string, operator: PropertyFilter['operator'], ...values: string[]): EventFilter => ({
    properties: [{ key, operator, values }],
  });
  const texts: Readonly<Record<string, string>> = {
    a: '{"n":7}',
    b: '{"n":-2.5}',
    c: '{"n":12345678901234567890}',
    d: '{"n":12345678901234567890123}',
    e: '{"deep":{"n":1}, "n" : 12345678901234567890124}',
    f: '{"n":"7"}',
    g: '{"plan":"pro max"}',
    h: '{"n":1e3}',
    i: '{"n":"none","$import_run_id":"run-1"}',
    j: '{"n":null}',
  };
  const cases: readonly [string, EventFilter, string][] = [
    ['greater than', property('n', 'gt', '7'), 'cdeh'],
    ['at least', property('n', 'gte', '7'), 'acdeh'],
    ['less than', property('n', 'lt', '7'), 'b'],
    ['at most, a fraction', property('n', 'lte', '-2.5'), 'b'],
    ['greater than a number with many digits', property('n', 'gt', '12345678901234567889'), 'cde'],
    ['greater than a number of 20 digits, to the last', property('n', 'gt', '12345678901234567890'), 'de'],
    ['exactly a number beyond 64 bits', property('n', 'exact', '12345678901234567890123'), 'd'],
    ['not a number beyond 64 bits', property('n', 'is_not', '12345678901234567890123'), 'abcefghij'],
    ['starts_with', property('plan', 'starts_with', 'pro'), 'g'],
    ['starts_with, case-sensitive', property('plan', 'starts_with', 'Pro'), ''],
    ['not_icontains', property('plan', 'not_icontains', 'MAX'), 'abcdefhij'],
    ['the import run', { run: 'run-1' }, 'i'],
    ['a hostile run', { run: "x' OR '1'='1" }, ''],
  ];
  let project = 0;
  beforeAll(async () => {
    project = newProject();
    const rows = Object.entries(texts).map(([event, properties], at) =>
      rowAt(project, micros('2024-01-01') + BigInt(at), { event, properties }),
    );
    await insertRows(store(), `explore-${project}`, rows);
  });

  it.each(cases)('filters by %s', async (_, filter, expected) => {
    const { events } = await listEvents(store(), project, filter, { limit: 100, nowMicros });
    expect(
      events
        .map(({ event }) => event)
        .sort()
        .join(''),
    ).toBe(expected);
  });
}

function orderTests(store: () => EventStore): void {
  it('pages from the oldest event through gaps, duplicates and times before 1970, each once', async () => {
    const project = newProject();
    const times = [micros('1905-01-01'), micros('1969-12-31T23:59:59.999999Z')];
    for (let at = 0; at < 40; at++) times.push(micros('2024-01-01') + BigInt(at) * 90_000_000_000n);
    for (let at = 0; at < 20; at++) times.push(micros('2009-05-05'));
    const rows = times.map((time) => rowAt(project, time));
    await insertRows(store(), `oldest-${project}`, rows);
    await insertRows(store(), `oldest-again-${project}`, rows);
    for (const limit of [7, 1000]) {
      const events: StoredEvent[] = [];
      let cursor: EventKey | undefined;
      do {
        const page = await listOldestFirst(store(), project, {}, { limit, ...(cursor && { cursor }) });
        events.push(...page.events);
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
      expect(events).toHaveLength(rows.length);
      expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(rows.length);
      const shown = events.map(({ timestampMicros }) => timestampMicros);
      expect(shown).toEqual(shown.toSorted((one, other) => (one < other ? -1 : 1)));
    }
    const range = { after: micros('2009-01-01'), before: micros('2024-01-01T12:00:00Z') };
    expect((await listOldestFirst(store(), project, range, { limit: 100 })).events).toHaveLength(21);
  });
}

function chartTests(store: () => EventStore): void {
  const starts = async (project: number, interval: 'hour' | 'day' | 'week' | 'month', timeZone: string) => {
    const counts = await countEvents(store(), project, interval, {}, { timeZone });
    return counts.map(({ startMicros, count }) => [isoOfMicros(startMicros).slice(0, 16), count]);
  };

  it('intervals follow the time zone, also when clocks change', async () => {
    const project = newProject();
    const times = [
      // Berlin, when clocks go forward: a day of 23 hours.
      '2024-03-30T22:59:59Z',
      '2024-03-30T23:00:00Z',
      '2024-03-31T21:59:59Z',
      '2024-03-31T22:00:00Z',
      // And back: two hours with the same local time.
      '2024-10-27T00:30:00Z',
      '2024-10-27T01:30:00Z',
      '1905-04-01T00:00:00Z',
    ];
    await insertRows(
      store(),
      `zone-${project}`,
      times.map((time) => rowAt(project, micros(time))),
    );
    expect(await starts(project, 'day', 'Europe/Berlin')).toEqual([
      ['1905-03-31T23:00', 1],
      ['2024-03-29T23:00', 1],
      ['2024-03-30T23:00', 2],
      ['2024-03-31T22:00', 1],
      ['2024-10-26T22:00', 2],
    ]);
    expect((await starts(project, 'hour', 'Europe/Berlin')).slice(-2)).toEqual([
      ['2024-10-27T00:00', 1],
      ['2024-10-27T01:00', 1],
    ]);
    expect((await starts(project, 'month', 'Europe/Berlin')).slice(1)).toEqual([
      ['2024-02-29T23:00', 3],
      ['2024-03-31T22:00', 1],
      ['2024-09-30T22:00', 2],
    ]);
    expect((await starts(project, 'hour', 'Asia/Kolkata')).at(-1)).toEqual(['2024-10-27T01:30', 1]);
  });

  it('counts the most frequent events by name and the others together, without losing any', async () => {
    const project = newProject();
    const names = ['a', 'a', 'a', 'b', 'b', 'c', 'd'];
    const day = micros('2024-01-01');
    await insertRows(
      store(),
      `top-${project}`,
      names.map((event, at) => rowAt(project, day + BigInt(at), { event, historical: at % 2 === 0 })),
    );
    const counts = await countEvents(store(), project, 'day', {}, { top: 2 });
    const sums = new Map<string | null, number>();
    for (const { event, count } of counts) sums.set(event, (sums.get(event) ?? 0) + count);
    expect(Object.fromEntries([...sums].map(([event, count]) => [String(event), count]))).toEqual({
      a: 3,
      b: 2,
      null: 2,
    });
    const filtered = await countEvents(store(), project, 'day', { historical: true }, { top: 1 });
    expect(filtered.map(({ event, count }) => [event, count])).toEqual([
      [null, 2],
      ['a', 2],
    ]);
  });

  it('counts stay exact while late copies and other days are ingested and a run is deleted, each event once', async () => {
    const project = newProject();
    const first = micros('2024-02-20');
    const hours = (count: number): bigint => BigInt(count) * 3_600_000_000n;
    const rows = Array.from({ length: 120 }, (_, at) =>
      rowAt(project, first + hours(at * 7), {
        event: `e${at % 3}`,
        historical: at % 2 === 0,
        ...(at % 4 === 0 ? { properties: '{"$import_run_id":"run-1"}' } : {}),
      }),
    );
    // Copies are received later, with another time by clock correction.
    const copies = rows.map((row) => ({
      ...row,
      receivedAtMicros: row.receivedAtMicros + dayMicros,
      timestampMicros: row.timestampMicros + 3 * dayMicros,
      properties: '{}',
    }));
    const kept = new KeptCounts(store());
    const steps = [rows.slice(0, 80), copies.slice(40, 90), [...rows.slice(60), ...copies.slice(0, 10)], copies];
    for (const [step, batch] of steps.entries()) {
      await insertRows(store(), `steps-${project}-${step}`, batch);
      expect(await wrongCounts(store(), project, kept, [first + hours(100), first + hours(500)])).toEqual([]);
    }
    await store().deleteRun({ projectId: project, runId: 'run-1', from: '2024-02-01', to: '2024-04-30' });
    expect(await wrongCounts(store(), project, kept, [first + hours(100), first + hours(500)])).toEqual([]);
  });
}

/** Returns the counts, with and without time bounds, that differ from a read of all rows. Each is queried twice. */
async function wrongCounts(
  store: EventStore,
  project: number,
  kept: KeptCounts,
  [after, before]: [bigint, bigint],
): Promise<string[]> {
  const rows = await store.query<{ micros: string; received: string; event: string }>(
    `SELECT toUnixTimestamp64Micro(timestamp) AS micros, toUnixTimestamp64Micro(received_at) AS received, event
FROM events FINAL WHERE project_id = {project:Int32}`,
    { project },
  );
  const wrong: string[] = [];
  const compare = (what: string, counted: readonly string[], expected: readonly string[]): void => {
    const [left, right] = [counted.toSorted().join(), expected.toSorted().join()];
    if (left !== right) wrong.push(`${what}: expected ${right}, got ${left}`);
  };
  for (const range of [{}, { after }, { before }, { after, before }, { after, before, event: 'e1' }]) {
    const isInside = (time: bigint): boolean =>
      (range.after === undefined || time >= range.after) && (range.before === undefined || time < range.before);
    const inside = rows
      .filter(({ micros: time, event }) => isInside(BigInt(time)) && (range.event ?? event) === event)
      .map(({ micros: time, event }) => `${isoOfMicros(BigInt(time)).slice(0, 10)} ${event}`);
    for (const turn of ['once', 'again']) {
      const days = await countEvents(store, project, 'day', range, { kept });
      const counted = days.flatMap(({ startMicros, event, count }) =>
        Array.from({ length: count }, () => `${isoOfMicros(startMicros).slice(0, 10)} ${event}`),
      );
      compare(`days ${turn}`, counted, inside);
    }
    const months = await countEvents(store, project, 'month', range, { top: 1, timeZone: 'Asia/Kolkata', kept });
    compare('months', [String(months.reduce((sum, { count }) => sum + count, 0))], [String(inside.length)]);
  }
  const end = 1_750_000_000_000_001n;
  const usage = await usageByDay(store, project, { before: end }, kept);
  const received = rows.filter(({ received: time }) => BigInt(time) < end).length;
  compare('usage', [String(usage.reduce((sum, day) => sum + day.standard + day.historical, 0))], [String(received)]);
  return wrong;
}
