import { describe, expect, it } from 'vitest';
import type { Format, FormatOptions } from '../../formats/format.ts';
import { findFormat } from '../../formats/registry.ts';
import { amplitudeRecords } from '../../formats/amplitude/records.fixture.ts';
import { eventsOf } from '../../../../test/support/format-check.ts';
import { ga4Records } from '../../formats/ga4/records.fixture.ts';
import { mixpanelRecords } from '../../formats/mixpanel/records.fixture.ts';
import { posthogRecords } from '../../formats/posthog/records.fixture.ts';
import { createChecksum, createContentChecksum, withoutRunMark } from '../../checksum.ts';
import { storedId } from '../../../wire/batch/stored-id.ts';
import { RunFailedError } from '../../run/leased-run.ts';
import { stagingKeys } from '../../staging.ts';
import type { CheckLimits } from './check-deps.ts';
import { createTimeReader, dayOfMicros } from './segment/event-times.ts';
import { createSegmentMemory } from './threads/segment-memory.ts';
import type { WireEvent } from '../../../wire/contract/wire-event.ts';
import { TargetUnreadableError, type StoredPlace } from '../../target.ts';
import { checkTest, type CheckTest, type LoadedEvent } from '../../../../test/support/check-stage.ts';

/** Small enough to reach every limit. */
const small: Partial<CheckLimits> = { deferredRows: 20 };

const readTime = createTimeReader();

function microsOf(timestamp: string): number {
  const time = readTime(timestamp);
  if (time === undefined) throw new Error(`expected a time, got: ${timestamp}`);
  return time.micros;
}

function identity({ uuid, event, distinct_id: id, timestamp }: Omit<LoadedEvent, 'properties'>): string {
  return JSON.stringify([uuid.toLowerCase(), event, storedId(id), microsOf(timestamp)]);
}

/** Keeps the first event of the same name, distinct_id and uuid on a day. */
function withoutDuplicates(events: readonly LoadedEvent[]): LoadedEvent[] {
  const first = new Map<string, LoadedEvent>();
  for (const event of events) {
    const micros = microsOf(event.timestamp);
    const key = JSON.stringify([
      dayOfMicros(micros),
      event.event,
      storedId(event.distinct_id),
      event.uuid.toLowerCase(),
    ]);
    if (!first.has(key)) first.set(key, event);
  }
  return [...first.values()];
}

function formatOf(slug: string): Format {
  const format = findFormat(slug);
  if (format === undefined) throw new Error(`expected the format ${slug}`);
  return format;
}

/** Shuffles records reproducibly. */
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item, index) => ({ item, at: (index * 7919) % 10_007 }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

async function stageAll(test: CheckTest, records: readonly unknown[], perSegment: number): Promise<void> {
  const lines = records.map((record) => JSON.stringify(record));
  const middle = Math.floor(lines.length / 2);
  await test.stage('first', lines.slice(0, middle), perSegment);
  await test.stage('second', lines.slice(middle), perSegment);
}

/** Returns every row and all results. */
async function stateOf(test: CheckTest): Promise<unknown> {
  const lines = await test.lines();
  return { lines, days: await test.days(), result: await test.result(), rejected: await test.rejected() };
}

/** Keeps the links that the check keeps: the earliest of each, and for group events of Amplitude the latest. */
function withFinalLinks(slug: string, events: readonly WireEvent[]): readonly WireEvent[] {
  const latest = new Map<string, number>();
  const isGroupFact = ({ event }: WireEvent): boolean => slug === 'amplitude' && event === '$groupidentify';
  for (const event of events.filter(isGroupFact)) {
    latest.set(event.uuid, Math.max(latest.get(event.uuid) ?? -Infinity, microsOf(event.timestamp)));
  }
  return withEarliestLinks(events).filter(
    (event) => !isGroupFact(event) || microsOf(event.timestamp) === latest.get(event.uuid),
  );
}

function withEarliestLinks(events: readonly WireEvent[]): readonly WireEvent[] {
  const earliest = new Map<string, number>();
  const isLink = ({ event, properties }: WireEvent): boolean =>
    event === '$identify' && properties['$anon_distinct_id'] !== undefined && properties['$set'] === undefined;
  for (const event of events.filter(isLink)) {
    earliest.set(event.uuid, Math.min(earliest.get(event.uuid) ?? Infinity, microsOf(event.timestamp)));
  }
  return events.filter((event) => !isLink(event) || microsOf(event.timestamp) === earliest.get(event.uuid));
}

const sources: readonly (readonly [string, readonly unknown[], FormatOptions])[] = [
  ['mixpanel', shuffled([...mixpanelRecords(3, 500)]), { profile_time: '2024-01-01T00:00:00Z' }],
  ['amplitude', shuffled([...amplitudeRecords(5, 400)]), {}],
  ['posthog', shuffled([...posthogRecords(8, 700)]), {}],
  ['ga4', shuffled([...ga4Records(4, 400)]), {}],
];

describe('the check', () => {
  it.each(sources)(
    '%s: the events to load are those that the reader returns, each once, by day and time',
    async (slug, records, formatOptions) => {
      const format = formatOf(slug);
      await using test = await checkTest({ format: slug, formatOptions });
      await stageAll(test, records, 150);
      const result = await test.check({ limits: small });
      const read = format.createReader(formatOptions, format.names, createSegmentMemory());
      const results = records.map((record) => read(record));
      const converted = withFinalLinks(slug, eventsOf(results));
      const expected = withoutDuplicates(converted);
      const events = await test.events();
      expect(events.map(identity).toSorted()).toEqual(expected.map(identity).toSorted());
      const micros = events.map(({ timestamp }) => microsOf(timestamp));
      expect(micros).toEqual(micros.toSorted((a, b) => a - b));
      const byIdentity = new Map(expected.map((event) => [identity(event), event]));
      for (const event of events) {
        const marks = { $import_run_id: 'r', $geoip_disable: true };
        const properties = { ...byIdentity.get(identity(event))?.properties, ...marks };
        expect(event.properties).toEqual(JSON.parse(JSON.stringify(properties)));
      }
      const { totals } = result;
      expect(totals.events).toBe(converted.length);
      expect(totals.duplicates).toBe(converted.length - expected.length);
      expect(totals.records).toBe(records.length);
      expect(totals.rejected).toBe(results.filter(({ kind }) => kind === 'unreadable').length);
      const skipped = Object.values(totals.skipped).reduce((all, count) => all + count, 0);
      expect(totals.records).toBe((totals.converted ?? 0) + skipped + totals.rejected);
    },
  );

  it('days and checksums agree with the events', async () => {
    await using test = await checkTest({ format: 'mixpanel' });
    await stageAll(test, sources[0]?.[1] ?? [], 200);
    const result = await test.check({ limits: small });
    const byDay = Map.groupBy(await test.events(), ({ timestamp }) => dayOfMicros(microsOf(timestamp)));
    expect((await test.days()).map(({ day }) => day)).toEqual([...byDay.keys()]);
    for (const day of await test.days()) {
      const events = byDay.get(day.day) ?? [];
      expect(day.frames).toBe(Math.ceil(events.length / 1000));
      expect(events).toHaveLength(day.events);
      const sums = new Map<string, ReturnType<typeof createChecksum> & { count?: number }>();
      const contents = new Map<string, ReturnType<typeof createContentChecksum>>();
      const counts: Record<string, number> = {};
      for (const { uuid, event, distinct_id: id, timestamp, properties } of events) {
        const sum = sums.get(event) ?? createChecksum();
        sum.add(uuid, id, microsOf(timestamp));
        sums.set(event, sum);
        const content = contents.get(event) ?? createContentChecksum();
        const identity = { uuid, distinctId: id, micros: microsOf(timestamp) };
        content.add(identity, withoutRunMark(JSON.stringify(properties), String(properties['$import_run_id'])));
        contents.set(event, content);
        counts[event] = (counts[event] ?? 0) + 1;
      }
      const expected = Object.fromEntries(
        [...sums].map(([event, sum]) => [
          event,
          { count: counts[event], checksum: sum.digits(), content: contents.get(event)?.digits() },
        ]),
      );
      expect(JSON.parse(day.expected)).toEqual(expected);
      expect(result.days[day.day]).toEqual(counts);
    }
  });

  it('interrupted anywhere and resumed, it has the same result', async () => {
    const records = (sources[0]?.[1] ?? []).slice(0, 120);
    const run = async (kill?: { readonly name: string; readonly nth: number }): Promise<unknown> => {
      await using test = await checkTest({ format: 'mixpanel' });
      await stageAll(test, [...records, 'no record', { event: 'x' }], 35);
      let left = kill?.nth ?? 0;
      const failpoint = (name: string): void => {
        if (name === kill?.name && (left -= 1) === 0) throw new Error('killed');
      };
      const end = await test.check({ limits: small, failpoint }).then(
        () => 'done',
        (error: unknown) => String(error),
      );
      expect(end).toBe(kill === undefined ? 'done' : 'Error: killed');
      await test.check({ limits: small });
      return await stateOf(test);
    };
    const whole = await run();
    const segment = ['import_rows_written', 'import_segment_checked'];
    for (const name of [...segment, 'import_deferred_written', 'import_days_settled']) {
      for (const nth of segment.includes(name) ? [1, 3] : [1]) {
        expect(await run({ name, nth }), `${name} ${nth}`).toEqual(whole);
      }
    }
    expect(await run({ name: 'import_check_written', nth: 1 })).toEqual(whole);
  });

  it.each([
    ['import_rows_written', 3],
    ['import_deferred_written', 1],
  ])(
    'interrupted at %s, time %i: what may be in the tables of the run is inserted as a repetition',
    async (place, nth) => {
      await using test = await checkTest({ format: 'mixpanel' });
      await stageAll(test, (sources[0]?.[1] ?? []).slice(0, 120), 20);
      const { runTables } = test.runStore;
      const [tried, inserts] = [new Set<string>(), [] as { name: string; wasTried: boolean; isRepeated: boolean }[]];
      const insert: typeof runTables.insert = async (run, batch, segment, how = {}) => {
        const { table = 'rows', isRepeated = false } = how;
        inserts.push({ name: segment, wasTried: tried.has(`${segment} ${table}`), isRepeated });
        tried.add(`${segment} ${table}`);
        await runTables.insert(run, batch, segment, how);
      };
      const runStore = { ...test.runStore, runTables: { ...runTables, insert } };
      let left = nth;
      const failpoint = (name: string): void => {
        if (name === place && (left -= 1) === 0) throw new Error('killed');
      };
      await expect(test.check({ limits: small, runStore, failpoint })).rejects.toThrow('killed');
      expect(inserts.filter(({ isRepeated }) => isRepeated)).toEqual([]);
      await test.check({ limits: small, runStore });
      const segments = inserts.filter(({ name }) => name.startsWith('segment'));
      expect(segments.filter(({ wasTried, isRepeated }) => wasTried !== isRepeated)).toEqual([]);
      expect(inserts.filter(({ wasTried, isRepeated }) => wasTried && !isRepeated)).toEqual([]);
      expect(inserts.some(({ wasTried }) => wasTried)).toBe(true);
    },
  );

  it('duplicates are skipped and counted: the first one of the source stays', async () => {
    const uuid = '0190a000-0000-4000-8000-000000000001';
    const captured = (timestamp: string, n: number): string =>
      JSON.stringify({ uuid, event: 'bought', distinct_id: 'u', timestamp, properties: { n } });
    await using posthog = await checkTest({ format: 'posthog' });
    const times = ['2024-03-01T12:00:00.000002Z', '2024-03-01T12:00:00.000001Z', '2024-03-02T00:00:00Z'];
    await posthog.stage('a', times.map(captured), 1);
    const result = await posthog.check({ limits: small });
    const events = await posthog.events();
    expect(events.map(({ timestamp }) => microsOf(timestamp))).toEqual(
      [times[0], times[2]].map((time) => microsOf(time ?? '')),
    );
    expect(result.duplicates).toBe(1);
    expect(result.totals).toMatchObject({ records: 3, converted: 3, events: 3, duplicates: 1, rejected: 0 });
    expect(result.warnings.join(' ')).toContain('on several days');
  });

  it.each([1, 2])('duplicates with other contents than the loaded event are reported, %i threads', async (threads) => {
    const uuid = '0190a000-0000-4000-8000-000000000001';
    const record = (timestamp: string, n: number, id = uuid): string =>
      JSON.stringify({ uuid: id, event: 'bought', distinct_id: 'u', timestamp, properties: { n } });
    const first = record('2024-03-01T12:00:00Z', 1);
    const checked = async (...files: readonly (readonly string[])[]): Promise<string> => {
      await using test = await checkTest({ format: 'posthog' });
      for (const [index, lines] of files.entries()) await test.stage(`file ${index}`, lines, 1);
      // The day is written before the interruption, and its sum is read again.
      const stop = (name: string): void => {
        if (name === 'import_days_settled') throw new Error('stopped');
      };
      const limits = { ...small, threadBytesMin: 1 };
      await expect(test.check({ limits, threads, failpoint: stop })).rejects.toThrow('stopped');
      const { warnings } = await test.check({ limits, threads });
      return warnings.filter((warning) => warning.includes('duplicate')).join(' ');
    };
    const other = record('2024-03-01T12:00:00Z', 2);
    const later = record('2024-03-01T12:00:01Z', 1);
    expect(await checked([first, other], [later, first])).toMatch(
      /^2 duplicate events are not identical to the first event/,
    );
    expect(
      await checked(
        [first, record('2024-03-01T12:00:00Z', 1)],
        [first, record('2024-03-01T12:00:00Z', 2, uuid.replace('1', '2'))],
      ),
    ).toBe('');
  });

  it('a link of two ids that the target has on another day is excluded; one of the same day, and any other event, is not', async () => {
    const link = (n: number, day: number, event = '$identify') => ({
      uuid: `0190a000-0000-4000-8000-00000000000${n}`,
      event,
      distinct_id: 'u',
      timestamp: `2024-03-0${day}T12:00:00Z`,
      properties: { $anon_distinct_id: `d${n}` },
    });
    const own = [link(1, 1), link(2, 2), link(3, 2), link(4, 3, 'bought')];
    const place = (n: number, day: number) => ({ day: `2024-03-0${day}`, uuid: link(n, 1).uuid, distinctId: 'u' });
    const queried: string[] = [];
    const reader = {
      eventsNamed: async function* (event: string) {
        queried.push(event);
        yield [place(1, 1), place(2, 1)];
        yield [place(4, 1)];
      },
    };
    await using posthog = await checkTest({ format: 'posthog' });
    await posthog.stage(
      'a',
      own.map((each) => JSON.stringify(each)),
      2,
    );
    const result = await posthog.check({ limits: small, reader });
    expect((await posthog.events()).map(({ uuid }) => uuid)).toEqual([1, 3, 4].map((n) => link(n, 1).uuid));
    expect(result.totals).toMatchObject({ records: 4, events: 4, duplicates: 1 });
    expect(queried).toEqual(['$identify']);
  });

  it('events that only a replaced run has stored do not count as stored', async () => {
    const exclusions: (readonly string[] | undefined)[] = [];
    const reader = {
      eventsNamed: async function* (_event: string, _signal: AbortSignal, without?: readonly string[]) {
        exclusions.push(without);
        yield [];
      },
    };
    await using test = await checkTest({ format: 'mixpanel', replace: ['old'] });
    const lines = [...mixpanelRecords(3, 50)].map((record) => JSON.stringify(record));
    await test.stage('a', lines, 50);
    await test.check({ reader });
    expect(exclusions.length).toBeGreaterThan(0);
    expect(new Set(exclusions.map(String))).toEqual(new Set(['old']));
  });

  it('a target that cannot be read does not affect the check', async () => {
    const reader = {
      eventsNamed: async function* () {
        yield await Promise.reject<readonly StoredPlace[]>(new TargetUnreadableError('no_reader', 'no such address'));
      },
    };
    await using test = await checkTest({ format: 'mixpanel' });
    const lines = [...mixpanelRecords(3, 50)].map((record) => JSON.stringify(record));
    await test.stage('a', lines, 50);
    expect((await test.check({ reader })).totals.records).toBe(50);
  });

  it('unreadable records and events that ingest would reject are stored with their original, and never stop the run', async () => {
    await using test = await checkTest({ format: 'posthog', rejectedMax: 0.5 });
    const event = (more: object): string =>
      JSON.stringify({ event: 'e', distinct_id: 'u', timestamp: '2024-03-01T12:00:00Z', properties: {}, ...more });
    let deep: unknown = 1;
    for (let level = 0; level < 66; level += 1) deep = [deep];
    const lines = [
      event({ uuid: '0190a000-0000-4000-8000-000000000001' }),
      '{"event": "cut',
      '',
      event({ uuid: '0190a000-0000-4000-8000-000000000002', event: 'x'.repeat(201) }),
      event({ uuid: '0190a000-0000-4000-8000-000000000003', properties: { deep } }),
      event({ uuid: '0190a000-0000-4000-8000-000000000004', timestamp: '2026-11-30T00:00:00Z' }),
      event({ uuid: '0190a000-0000-4000-8000-000000000005', properties: { long: 'x'.repeat(3000) } }),
      event({ uuid: '0190a000-0000-4000-8000-000000000006' }),
      event({ uuid: '0190a000-0000-4000-8000-000000000007' }),
    ];
    await test.stage('a', lines, 4);
    const result = await test.check({ eventBytesMax: 2000 });
    const rejected = await test.rejected();
    expect(rejected.map(({ line, code }) => [line, code])).toEqual([
      [2, 'invalid_json'],
      [4, 'event_name_too_long'],
      [5, 'event_too_deep'],
      [6, 'invalid_event_timestamp'],
      [7, 'event_too_large'],
    ]);
    for (const { line, original } of rejected) expect(original).toBe(lines[line - 1]);
    expect(await test.events()).toHaveLength(3);
    expect(result.totals).toMatchObject({ records: 8, rejected: 5, rejected_events: 4, converted: 7, events: 7 });
    // A blank line is not a record.
    expect(result.totals.skipped).toEqual({});
    expect(result.errors.map(({ count }) => count)).toEqual([1, 1, 1, 1, 1]);
    expect(result.verdict).toBe('failed');
  });

  it('a repeated check starts from scratch: nothing of the previous one stays', async () => {
    await using test = await checkTest({ format: 'mixpanel' });
    await stageAll(test, [...mixpanelRecords(2, 60)], 20);
    await test.check({ limits: small });
    const before = await stateOf(test);
    await test.staging.write('r/checked/stray.json', [Buffer.from('x')]);
    const leased = await test.hold();
    for (const { seq } of await leased.parts()) await leased.savePart(seq, { checked: 0 });
    await leased.resetDays('days');
    await test.check({ limits: small });
    expect(await stateOf(test)).toEqual(before);
    expect(await test.staging.list('r/checked/stray')).toEqual([]);
  });

  it.each([
    ['without a choice', {}],
    ['with a choice', { choice: { sample: 0.5 } }],
  ])('segments that an earlier version checked are checked again, %s', async (_how, options) => {
    await using whole = await checkTest({ format: 'mixpanel', ...options });
    await using test = await checkTest({ format: 'mixpanel', ...options });
    for (const each of [whole, test]) await stageAll(each, [...mixpanelRecords(2, 60)], 20);
    await whole.check({ limits: small });
    const failpoint = (name: string): void => {
      if (name === 'import_segment_checked') throw new Error('crash');
    };
    await expect(test.check({ limits: small, failpoint })).rejects.toThrow('crash');
    await test.staging.remove(stagingKeys.handOver('r', 1, 0));
    await test.check({ limits: small });
    expect(await stateOf(test)).toEqual(await stateOf(whole));
    expect(await test.staging.list('r/checked/')).toEqual([]);
  });

  it('stops immediately when the run is paused, without a day or a result', async () => {
    await using test = await checkTest({ format: 'mixpanel' });
    await stageAll(test, [...mixpanelRecords(2, 60)], 20);
    const controller = new AbortController();
    controller.abort(new Error('paused'));
    const { createCheckStage } = await import('./check-stage.ts');
    const stage = createCheckStage({ ...test, eventBytesMax: 1e6, clock: { now: () => test.now } });
    await expect(stage(await test.hold(controller.signal))).rejects.toThrow('paused');
    expect(await test.staging.list(stagingKeys.check('r'))).toEqual([]);
    expect(await test.days()).toEqual([]);
  });

  it('an invalid format option fails the run with a message', async () => {
    await using test = await checkTest({ format: 'mixpanel', formatOptions: { time_zone: 'Nowhere/Land' } });
    await expect(test.check()).rejects.toThrow(RunFailedError);
    await using unknown = await checkTest({ format: 'no-such-format' });
    await expect(unknown.check()).rejects.toThrow('expected one of the formats');
  });
});
