import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMicros, insertRows, newProject, testRow, type StoreUnderTest } from './event-store.ts';
import { countEvents, usageByDay } from '../../../src/stores/events/counts.ts';
import type { EventStore } from '../../../src/stores/events/eventstore.ts';
import type { EventFilter, PropertyFilter } from '../../../src/stores/events/filters.ts';
import { isoOfMicros, parseMicros } from '../../../src/stores/events/micros.ts';
import {
  getEvent,
  historicalTotal,
  listEvents,
  type EventKey,
  type StoredEvent,
} from '../../../src/stores/events/reads.ts';
import { RecentReach } from '../../../src/stores/events/recent-reach.ts';
import type { EventRow } from '../../../src/stores/events/rows.ts';

const newestDay = 20_000;
const nowMicros = BigInt(newestDay + 1) * BigInt(dayMicros);

function micros(text: string): bigint {
  const found = parseMicros(text);
  if (found === undefined) throw new TypeError(`expected a time, got ${text}`);
  return found;
}

/** Returns a row with matching time and day. */
function rowAt(project: number, time: bigint, more: Partial<EventRow> = {}): EventRow {
  const timestampMicros = Number(time);
  return testRow(project, { timestampMicros, keyDay: Math.floor(timestampMicros / dayMicros), ...more });
}

/** Returns what an event and its key have in common. */
function placeOf({ uuid, event, distinctId, timestampMicros }: Omit<EventKey, 'day'>): Omit<EventKey, 'day'> {
  return { uuid, event, distinctId, timestampMicros };
}

async function listAll(store: EventStore, project: number, filter: EventFilter, limit: number): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  let cursor: EventKey | undefined;
  for (let pages = 0; pages < 1000; pages++) {
    const page = await listEvents(store, project, filter, { limit, nowMicros, ...(cursor ? { cursor } : {}) });
    expect(page.events.length).toBeLessThanOrEqual(limit);
    events.push(...page.events);
    if (!page.next) return events;
    expect(page.events.length).toBe(limit);
    cursor = page.next;
  }
  throw new Error('expected the pages to end, got more');
}

/** Reads of stored events, on any adapter. What earlier lists change is the same for all servers of one adapter. */
export function readsConformance(
  name: string,
  open: () => Promise<StoreUnderTest>,
  { withEarlierLists = true }: { readonly withEarlierLists?: boolean } = {},
): void {
  describe(`reads: ${name}`, () => {
    let under: StoreUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => under.close());

    listTests(() => under.store);
    if (withEarlierLists) reachTests(() => under.store);
    filterTests(() => under.store);
    countTests(() => under.store);
    // Last, because it leaves a part for each of many months, which slows every later query.
    historyTests(() => under.store);
  });
}

function listTests(store: () => EventStore): void {
  it('distinguishes events with the same time and uuid', async () => {
    const project = newProject();
    const same = testRow(project);
    const rows = ['a', 'b', 'c', 'd', 'e'].flatMap((event) => [
      { ...same, event },
      { ...same, event, distinctId: 'other' },
    ]);
    await insertRows(store(), `twins-${project}`, rows);
    const events = await listAll(store(), project, {}, 3);
    expect(new Set(events.map((event) => `${event.event}/${event.distinctId}`)).size).toBe(10);
    expect(events).toHaveLength(10);
  });

  it('shows duplicates once, with the time and content of the first received, before any merge', async () => {
    const project = newProject();
    const base = Array.from({ length: 50 }, (_, i) => testRow(project, { timestampMicros: newestDay * dayMicros + i }));
    const later = base.map((row, i) => ({
      ...row,
      receivedAtMicros: row.receivedAtMicros + 1,
      properties: '{"late":true}',
      // Clock correction gave the copy another time: newer, older or far away.
      timestampMicros: row.timestampMicros + [1_000_000, -1_000_000, -400 * dayMicros][i % 3]!,
    }));
    await insertRows(store(), `late-${project}`, later);
    await insertRows(store(), `base-${project}`, base);
    const looks: readonly [number, EventFilter][] = [
      [9, {}],
      [50, {}],
      [51, { distinctId: 'user-1' }],
    ];
    for (const [limit, filter] of looks) {
      const events = await listAll(store(), project, filter, limit);
      expect(events.map((event) => Number(event.timestampMicros))).toEqual(
        base.map((row) => row.timestampMicros).toReversed(),
      );
      expect(new Set(events.map((event) => event.properties))).toEqual(new Set(['{}']));
    }
    // A copy in the range must not replace its original outside of it.
    const before = BigInt(newestDay * dayMicros);
    expect(await listAll(store(), project, { before }, 10)).toEqual([]);
    const late: PropertyFilter = { key: 'late', operator: 'exact', values: ['true'] };
    expect(await listAll(store(), project, { properties: [late] }, 10)).toEqual([]);
    expect(await countEvents(store(), project, 'day', { before })).toEqual([]);
    const [total] = await countEvents(store(), project, 'day', {});
    expect(total).toMatchObject({ count: 50 });
  });

  it('returns one event by uuid, the first received, only of this project', async () => {
    const project = newProject();
    const row = testRow(project, { properties: '{"a":"ü\\n"}', historical: true });
    await insertRows(store(), `two-${project}`, [
      { ...row, receivedAtMicros: row.receivedAtMicros + 9, properties: '{}' },
    ]);
    await insertRows(store(), `one-${project}`, [row]);
    expect(await getEvent(store(), project, row.uuid.toUpperCase())).toMatchObject({
      uuid: row.uuid,
      event: row.event,
      distinctId: row.distinctId,
      properties: row.properties,
      historical: true,
      timestampMicros: BigInt(row.timestampMicros),
    });
    expect(await getEvent(store(), newProject(), row.uuid)).toBeUndefined();
    expect(await getEvent(store(), project, randomUUID())).toBeUndefined();
  });
}

function historyTests(store: () => EventStore): void {
  it('pages through history with gaps, many simultaneous events and future times, each once, newest first', async () => {
    const project = newProject();
    const times: bigint[] = [nowMicros + 5n * BigInt(dayMicros)];
    for (let i = 0; i < 40; i++) times.push(nowMicros - BigInt(i) * 3_000_000_000n);
    for (let i = 0; i < 30; i++) times.push(micros('2009-05-05'));
    for (let i = 0; i < 20; i++) times.push(micros('1969-12-31T23:59:59.999999Z') - BigInt(i) * 86_400_000_001n);
    times.push(micros('1900-01-01'), micros('2299-12-31T23:59:59.999990Z'));
    const rows = times.map((time) => rowAt(project, time));
    await insertRows(store(), `pages-${project}`, rows);
    const looks: readonly [number, EventFilter][] = [
      [7, {}],
      [93, {}],
      [1000, {}],
      // Events of one person are searched in longer spans.
      [20, { distinctIds: ['user-1', 'missing'] }],
    ];
    for (const [limit, filter] of looks) {
      const events = await listAll(store(), project, filter, limit);
      expect(new Set(events.map((event) => event.uuid))).toEqual(new Set(rows.map((row) => row.uuid)));
      expect(events).toHaveLength(rows.length);
      const shown = events.map((event) => event.timestampMicros);
      expect(shown).toEqual(shown.toSorted((a, b) => (a < b ? 1 : -1)));
    }
  });
}

function reachTests(store: () => EventStore): void {
  it('a first page is the same with and without earlier lists, for any events added or removed since', async () => {
    const project = newProject();
    const reach = new RecentReach();
    const filters: readonly EventFilter[] = [{}, { distinctId: 'user-1' }, { run: 'r1' }];
    let at = nowMicros;
    const expectSame = async (): Promise<void> => {
      at += 60_000_000n;
      for (const filter of filters) {
        const all = await listEvents(store(), project, filter, { limit: 40, nowMicros: at });
        expect(all.next).toBeNull();
        for (const limit of [40, 2]) {
          const page = await listEvents(store(), project, filter, { limit, nowMicros: at, reach });
          const events = all.events.slice(0, limit);
          expect(page.events).toEqual(events);
          expect(page.next && placeOf(page.next)).toEqual(all.events.length > limit ? placeOf(events.at(-1)!) : null);
        }
      }
    };
    const add = async (name: string, rows: readonly EventRow[]): Promise<void> => {
      await insertRows(store(), `looks-${name}-${project}`, rows);
      await expectSame();
    };
    const old = nowMicros - 30n * BigInt(dayMicros);
    const imported = { properties: '{"$import_run_id":"r1"}' };
    const oldest = Array.from({ length: 30 }, (_, i) => rowAt(project, old - BigInt(i) * 3_600_000_000n));
    await expectSame();
    await add('oldest', oldest);
    const day = old + BigInt(dayMicros);
    await add(
      'imported',
      [0, 1, 2, 3].map((i) => rowAt(project, day + BigInt(i), imported)),
    );
    // Newer, older, simultaneous with another, and copies whose first received row has another time.
    await add('newer', [rowAt(project, nowMicros), rowAt(project, old, { event: 'other' }), rowAt(project, 0n)]);
    const copies = oldest.slice(0, 3).map((row) => structuredClone(row));
    const earlier = { receivedAtMicros: oldest[0]!.receivedAtMicros - 1, timestampMicros: 0 };
    await add(
      'copies',
      copies.map((row) => Object.assign(row, earlier)),
    );
    const [from, to] = ['1970-01-01', '2100-01-01'];
    await store().deleteRun({ projectId: project, runId: 'r1', from, to });
    await expectSame();
  });

  it('a list begins where the last one ended, for an hour', async () => {
    const reach = new RecentReach();
    const look = { atMicros: nowMicros, reachedMicros: 5n };
    reach.note(1, { before: 9n }, look);
    const hour = 3_600_000_000n;
    expect(reach.reached(1, { before: 9n }, nowMicros)).toBe(5n);
    expect(reach.reached(1, { before: 9n }, nowMicros + hour)).toBe(5n);
    expect(reach.reached(1, { before: 9n }, nowMicros + hour + 1n)).toBeUndefined();
    expect(reach.reached(1, { before: 9n }, nowMicros - 1n)).toBeUndefined();
    expect(reach.reached(1, { before: 8n }, nowMicros)).toBeUndefined();
    expect(reach.reached(2, { before: 9n }, nowMicros)).toBeUndefined();
  });
}

function filterTests(store: () => EventStore): void {
  const property = (key: string, operator: PropertyFilter['operator'], ...values: string[]): EventFilter => ({
    properties: [{ key, operator, values }],
  });
  const cases: readonly [string, EventFilter, string][] = [
    ['no filter', {}, 'abcde'],
    ['event', { event: 'sign up' }, 'b'],
    ['distinct_id', { distinctId: "o'hara" }, 'c'],
    ['historical', { historical: true }, 'd'],
    ['not historical', { historical: false }, 'abce'],
    ['after is inclusive', { after: micros('2024-01-03') }, 'cde'],
    ['before is exclusive', { before: micros('2024-01-03') }, 'ab'],
    ['between', { after: micros('2024-01-02'), before: micros('2024-01-04') }, 'bc'],
    ['an empty range', { after: micros('2024-01-04'), before: micros('2024-01-02') }, ''],
    ['exact text', property('plan', 'exact', 'pro'), 'a'],
    ['exact of several', property('plan', 'exact', 'pro', 'PRO max'), 'ab'],
    ['exact number', property('n', 'exact', '7'), 'c'],
    ['exact boolean', property('on', 'exact', 'true'), 'c'],
    ['is_not', property('plan', 'is_not', 'pro'), 'bcde'],
    ['icontains', property('plan', 'icontains', 'pRo'), 'ab'],
    ['is_set', property('plan', 'is_set'), 'ab'],
    ['is_not_set', property('plan', 'is_not_set'), 'cde'],
    ['a hostile key', property("'] OR 1=1 --", 'exact', "x' OR '1'='1"), 'd'],
    [
      'all filters together',
      { event: 'page', properties: [{ key: 'plan', operator: 'is_set', values: [] }], after: micros('2024-01-01') },
      'a',
    ],
  ];
  let project = 0;
  beforeAll(async () => {
    project = newProject();
    const row = (day: string, letter: string, properties: object, more: Partial<EventRow> = {}): EventRow =>
      rowAt(project, micros(`2024-01-${day}`), {
        event: 'page',
        properties: JSON.stringify({ letter, ...properties }),
        ...more,
      });
    await insertRows(store(), `filters-${project}`, [
      row('01', 'a', { plan: 'pro' }),
      row('02', 'b', { plan: 'PRO max' }, { event: 'sign up' }),
      row('03', 'c', { n: 7, on: true }, { distinctId: "o'hara" }),
      row('04', 'd', { "'] OR 1=1 --": "x' OR '1'='1" }, { historical: true }),
      row('05', 'e', { deep: { plan: 'pro' } }),
    ]);
  });

  it.each(cases)('filters by %s', async (_, filter, expected) => {
    const events = await listAll(store(), project, filter, 2);
    const letters = events.map((event) => (JSON.parse(event.properties) as { letter: string }).letter);
    expect(letters.toReversed().join('')).toBe(expected);
  });
}

function countTests(store: () => EventStore): void {
  const times = [
    '1905-03-31T23:59:59.999999Z',
    '2024-02-29T23:59:59Z',
    '2024-03-01',
    '2024-03-04T01:30:00Z',
    '2250-07-07',
  ];
  const expected = {
    hour: [
      '1905-03-31T23:00:00',
      '2024-02-29T23:00:00',
      '2024-03-01T00:00:00',
      '2024-03-04T01:00:00',
      '2250-07-07T00:00:00',
    ],
    day: ['1905-03-31', '2024-02-29', '2024-03-01', '2024-03-04', '2250-07-07'].map((day) => `${day}T00:00:00`),
    week: ['1905-03-27', '2024-02-26', '2024-02-26', '2024-03-04', '2250-07-01'].map((day) => `${day}T00:00:00`),
    month: ['1905-03-01', '2024-02-01', '2024-03-01', '2024-03-01', '2250-07-01'].map((day) => `${day}T00:00:00`),
  } as const;

  it.each(['hour', 'day', 'week', 'month'] as const)(
    'counts per %s, also before 1970 and after 2106',
    async (interval) => {
      const project = newProject();
      const rows = times.map((time) => rowAt(project, micros(time)));
      await insertRows(store(), `counts-${project}`, rows);
      await insertRows(store(), `again-${project}`, rows);
      const counts = await countEvents(store(), project, interval, {});
      const starts = [...new Set(expected[interval])];
      expect(counts.map((count) => isoOfMicros(count.startMicros))).toEqual(starts.map((start) => `${start}.000000Z`));
      expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(times.length);
    },
  );

  it('counts names and kinds separately, within a range', async () => {
    const project = newProject();
    const row = (day: string, event: string, historical: boolean): EventRow =>
      rowAt(project, micros(day), { event, historical });
    await insertRows(store(), `kinds-${project}`, [
      row('2024-01-01', 'a', false),
      row('2024-01-01', 'a', true),
      row('2024-01-01', 'b', true),
      row('2024-01-02', 'a', false),
    ]);
    const range = { after: micros('2024-01-01'), before: micros('2024-01-02') };
    const startMicros = micros('2024-01-01');
    expect(await countEvents(store(), project, 'day', range)).toEqual([
      { startMicros, event: 'a', historical: false, count: 1 },
      { startMicros, event: 'a', historical: true, count: 1 },
      { startMicros, event: 'b', historical: true, count: 1 },
    ]);
    expect(await countEvents(store(), project, 'day', { ...range, event: 'b' })).toHaveLength(1);
    expect(await historicalTotal(store(), project)).toBe(2);
  });

  it('meters each event once, on the day of its first receipt, both kinds separately', async () => {
    const project = newProject();
    const received = (day: string): number => Number(micros(day));
    const first = testRow(project, { receivedAtMicros: received('2026-01-01T23:59:59.999999Z') });
    const old = testRow(project, { receivedAtMicros: received('2026-01-03'), keyDay: 100, historical: true });
    await insertRows(store(), `usage-1-${project}`, [{ ...first, receivedAtMicros: received('2026-01-02') }, old]);
    await insertRows(store(), `usage-2-${project}`, [first]);
    const days = [
      { date: '2026-01-01', standard: 1, historical: 0 },
      { date: '2026-01-03', standard: 0, historical: 1 },
    ];
    expect(await usageByDay(store(), project, {})).toEqual(days);
    expect(await usageByDay(store(), project, { after: micros('2026-01-02') })).toEqual(days.slice(1));
    expect(await usageByDay(store(), project, { before: micros('2026-01-03') })).toEqual(days.slice(0, 1));
  });
}
