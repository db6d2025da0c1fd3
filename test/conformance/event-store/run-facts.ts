import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { hostileTexts, insertSegment, newRun, runRow } from '../../support/run-table-rows.ts';
import { dayMicros } from './event-store.ts';
import type { RunRef } from '../../../src/stores/events/eventstore.ts';
import type { EventRow } from '../../../src/stores/events/rows.ts';
import { sliceWidth, type FactsToOrder } from '../../../src/stores/events/run-facts.ts';
import { runTableDaysAbout, runTableNamed } from '../../../src/stores/events/run-table-reads.ts';
import type { RunStore } from '../../../src/stores/events/run-tables.ts';

const march = 19_783;
const april = march + 31;

/** Reads of ordered facts, part of runTablesConformance. */
export function runFactTests(store: () => RunStore): void {
  it('facts are read component by component, in order of time and source, each once and byte for byte', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const facts = Array.from({ length: 60 }, (_, n) => {
      const keyDay = n % 9 === 0 ? april : march;
      const timestampMicros = keyDay * dayMicros + (((n * 31) % 50) >> 2);
      const properties = `{"$set":{"n":1.${n}0e400,"text":${JSON.stringify(hostileTexts[n % 5])}}}`;
      return runRow(run, n, { keyDay, timestampMicros, distinctId: idOf(n % 7), event: `it's ${n % 2}`, properties });
    });
    const others = [runRow(run, 70, { keyDay: march + 62 })];
    await insertSegment(store(), run, '0', facts.slice(30), 'facts');
    await insertSegment(store(), run, '1', [...facts.slice(0, 40), ...others], 'facts');
    await insertSegment(store(), run, '0', [runRow(run, 0)]);
    const [first, second] = [crc32(idOf(1)), crc32(idOf(4))];
    // Facts of two merged ids are in order of time. The third id is not merged.
    const pairs = [Uint32Array.of(first, 5, 77, 9), Uint32Array.of(second, 5)];
    const componentOf = ({ distinctId: id }: EventRow): number => ([idOf(1), idOf(4)].includes(id) ? 5 : crc32(id));
    const expected = facts.toSorted(
      (a, b) =>
        componentOf(a) - componentOf(b) ||
        a.timestampMicros - b.timestampMicros ||
        a.receivedAtMicros - b.receivedAtMicros,
    );
    const order = { from: 'facts', months: [202_403, 202_404], components: pairs } as const;
    for (const componentsPerPass of [1000, 1, 1000]) {
      const read = await readOrdered(store(), run, { ...order, componentsPerPass });
      expect(read).toEqual(expected.map(lineOf));
    }
    await store().runTables.drop(run);
    expect(await store().runTables.partitions(run, 'facts')).toEqual([]);
  });

  it('the events themselves are ordered instead of their facts', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const rows = [0, 1, 2].map((n) => runRow(run, n));
    await insertSegment(store(), run, '0', rows);
    await insertSegment(store(), run, '0', rows.slice(1), 'facts');
    for (const [from, expected] of [
      ['rows', rows],
      ['facts', rows.slice(1)],
      ['rows', rows],
    ] as const) {
      const read = await readOrdered(store(), run, { from, months: [202_403], components: [] });
      expect(read).toEqual(expected.map(lineOf));
    }
    await store().runTables.drop(run);
  });

  it('50,000 facts of as many ids, each in a component, are ordered', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const facts = Array.from({ length: 50_000 }, (_, n) => runRow(run, n, { distinctId: `user-${n}` }));
    await insertSegment(store(), run, '0', facts, 'facts');
    function* components(): Generator<Uint32Array> {
      for (let from = 0; from < facts.length; from += 10_000) {
        const some = facts.slice(from, from + 10_000);
        yield Uint32Array.from(some.flatMap(({ distinctId }, n) => [crc32(distinctId), 1 + ((from + n) >> 1)]));
      }
    }
    await store().runTables.orderFacts(run, { from: 'facts', months: [202_403], components: components() });
    expect((await store().runTables.countOrderedFacts(run, 2 ** 17)).slice(0, 2)).toEqual([50_000, 0]);
    // Consecutive ids form components of two.
    const lines = await store().runTables.orderedFacts(run, { from: 1, to: 25_001, limit: 60_000, offset: 49_990 });
    expect(idsIn(lines)).toEqual(facts.slice(-10).map(({ distinctId }) => distinctId));
    await store().runTables.drop(run);
  });

  it('events that merge persons and days with events about groups are found by month', async () => {
    const run = newRun();
    await store().runTables.create(run);
    const rows = [
      runRow(run, 0, { event: '$identify', properties: '{"$anon_distinct_id":"a"}' }),
      runRow(run, 1, { event: '$create_alias', keyDay: april, distinctId: "it's" }),
      runRow(run, 2, { event: '$merge_dangerously', keyDay: april + 30 }),
      runRow(run, 3, { event: '$groupidentify', keyDay: march + 2 }),
      runRow(run, 4, { properties: '{"$groups":{"team":1}}', keyDay: april }),
      runRow(run, 5, { properties: '{"\\u0024groups":{"team":1}}', keyDay: march + 1 }),
      runRow(run, 6, { properties: '{"$groups":{}}', keyDay: april + 30 }),
      runRow(run, 7, { properties: '{"groups":{}}', keyDay: march + 3 }),
    ];
    await insertSegment(store(), run, '0', rows);
    const of = { from: 'rows', months: [202_403, 202_404] } as const;
    const names = ['$identify', '$create_alias', '$merge_dangerously'];
    const { events: merges, next } = await runTableNamed(store(), run, of, { names, page: 0 });
    const merging = rows.slice(0, 2).map(({ event, distinctId, properties }) => [event, distinctId, properties]);
    expect(merges.map((each) => [each.event, each.distinct_id, each.properties]).toSorted()).toEqual(
      merging.toSorted(),
    );
    expect(next).toBe(undefined);
    expect(await runTableDaysAbout(store(), run, of, { events: ['$groupidentify'], property: '$groups' })).toEqual([
      '2024-03-02',
      '2024-03-03',
      '2024-04-01',
    ]);
    await store().runTables.drop(run);
  });
}

function idOf(n: number): string {
  return n === 6 ? 'user-6' : (hostileTexts[n] as string);
}

/** Reads ordered facts by slices and pages. */
async function readOrdered(store: RunStore, run: RunRef, facts: FactsToOrder): Promise<string[]> {
  await store.runTables.orderFacts(run, facts);
  const counts = await store.runTables.countOrderedFacts(run, 3);
  const width = sliceWidth(3);
  const read: Buffer[] = [];
  for (const [slice, count] of counts.entries()) {
    const at = { from: slice * width, to: (slice + 1) * width, limit: 7 };
    for (let offset = 0; offset < count; offset += 7) {
      read.push(await store.runTables.orderedFacts(run, { ...at, offset }));
    }
  }
  return Buffer.concat(read).toString('utf8').split('\n').slice(0, -1).map(parsed);
}

/** Parses a line, keeping its properties byte for byte. */
function parsed(line: string): string {
  const { uuid, event, distinct_id: id, timestamp } = JSON.parse(line) as Readonly<Record<string, string>>;
  const properties = line.slice(line.indexOf(',"properties":') + 14, -1);
  return JSON.stringify([uuid, event, id, timestamp, properties]);
}

function lineOf({ uuid, event, distinctId, timestampMicros, properties }: EventRow): string {
  const micros = String(timestampMicros % 1e6).padStart(6, '0');
  const timestamp = `${new Date(Math.floor(timestampMicros / 1e6) * 1000).toISOString().slice(0, 19)}.${micros}Z`;
  return JSON.stringify([uuid, event, distinctId, timestamp, properties]);
}

function idsIn(lines: Buffer): unknown[] {
  const texts = lines.toString('utf8').split('\n').slice(0, -1);
  return texts.map((line) => (JSON.parse(line) as { readonly distinct_id: unknown }).distinct_id);
}
