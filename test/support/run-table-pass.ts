import { isDeepStrictEqual } from 'node:util';
import type { RunRef } from '../../src/stores/events/eventstore.ts';
import type { EventRow } from '../../src/stores/events/rows.ts';
import { comparedCounts } from '../../src/stores/events/run-comparison.ts';
import type { RunStore } from '../../src/stores/events/run-tables.ts';
import { allDays, countsOf, expectedCounts, insertSegment } from './run-table-rows.ts';

export interface PassingRun {
  readonly run: RunRef;
  readonly segments: readonly (readonly EventRow[])[];
}

export interface PassSteps {
  /** Runs the next step that changes the tables, which inserts so many rows. */
  change(work: () => Promise<void>, rows?: number): Promise<void>;
  read<T>(work: () => Promise<T>): Promise<T>;
  /** Whether an earlier process may have inserted some of the segments. */
  readonly isRepeated: boolean;
}

const textMax = 5000;
/** One row in so many has facts about its person. */
const factsEvery = 7;

/** Number of steps that change the tables. */
export function statementsOf({ segments }: PassingRun, months: number): number {
  return 1 + segments.length + months + 1 + 1;
}

/**
 * Passes a run through its tables as an import does: they are created and filled, the rows are counted, attached to `events` and compared
 * with them, the facts are sorted, and the tables are dropped. Throws unless each row and each fact is there once at every step.
 */
export async function passThroughTables(store: RunStore, of: PassingRun, steps: PassSteps): Promise<void> {
  const { run, segments } = of;
  const { change, read, isRepeated } = steps;
  await change(() => store.runTables.create(run));
  for (const [at, rows] of segments.entries()) {
    await change(async () => {
      await insertSegment(store, run, `${at}`, rows, 'rows', isRepeated);
      await insertSegment(store, run, `${at}`, factsIn(rows), 'facts', isRepeated);
    }, rows.length);
  }
  await read(() => store.waitForReplicas(run));
  expectEqual(
    await read(() => countsOf(store, run, 'rows')),
    expectedCounts(run, segments.flat()),
    'the table of the run',
  );
  const months = (await read(() => store.runTables.partitions(run))).map(({ month }) => month);
  for (const month of months) await change(() => store.runTables.attach(run, month));
  await change(() => store.runTables.orderFacts(run, { from: 'facts', months, components: [] }));
  await read(() => store.waitForReplicas(run));
  expectEqual(await read(() => orderedIn(store, run)), uuidsOf(firstOfEach(segments.flatMap(factsIn))), 'sorted facts');
  const compared = await read(() => comparedCounts(store, run, { ...allDays, contents: 'crc32' }));
  const same = compared.reduce((sum, { kind, count }) => sum + (kind === 'same' ? count : 0), 0);
  const all = compared.reduce((sum, { count }) => sum + count, 0);
  const events = firstOfEach(segments.flat()).length;
  expectEqual({ same, all }, { same: events, all: events }, 'the comparison with events');
  await change(() => store.runTables.drop(run));
}

/** What `events` shows of the run in the end. */
export function shownCounts({ run, segments }: PassingRun): ReturnType<typeof expectedCounts> {
  return expectedCounts(run, firstOfEach(segments.flat()));
}

export function expectEqual(found: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(found, expected)) return;
  const text = (value: unknown): string => JSON.stringify(value).slice(0, textMax);
  throw new Error(`expected of ${what}: ${text(expected)}, got: ${text(found)}`);
}

/** One row for each identity, the first of the source. */
function firstOfEach(rows: readonly EventRow[]): EventRow[] {
  const first = new Map<string, EventRow>();
  for (const row of rows.toSorted((a, b) => b.receivedAtMicros - a.receivedAtMicros)) {
    first.set(JSON.stringify([row.keyDay, row.event, row.distinctId, row.uuid]), row);
  }
  return [...first.values()];
}

function factsIn(rows: readonly EventRow[]): EventRow[] {
  return rows.filter((_, at) => at % factsEvery === 0);
}

async function orderedIn(store: RunStore, run: RunRef): Promise<string[]> {
  const [facts = 0] = await store.runTables.countOrderedFacts(run, 1);
  const lines = await store.runTables.orderedFacts(run, { from: 0, to: 2 ** 32, limit: facts, offset: 0 });
  const texts = lines.toString().split('\n').slice(0, -1);
  return uuidsOf(texts.map((text) => JSON.parse(text) as { readonly uuid: string }));
}

function uuidsOf(of: readonly { readonly uuid: string }[]): string[] {
  return of.map(({ uuid }) => uuid).toSorted();
}
