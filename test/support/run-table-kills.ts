import { isDeepStrictEqual } from 'node:util';
import { StoreUnavailableError, type RunRef } from '../../src/stores/events/eventstore.ts';
import type { EventRow } from '../../src/stores/events/rows.ts';
import { until, type TempChdb } from './chdb.ts';
import { countsOf, expectedCounts, insertSegment } from './run-table-rows.ts';

export interface KilledRun {
  readonly run: RunRef;
  readonly segments: readonly (readonly EventRow[])[];
}

/** When the engine is killed: before the statement of this number, or so many ms after its work began. */
export type Kill = { readonly beforeStatement: number } | { readonly afterMs: number };

/**
 * A run goes through its table to `events` as by a process that notes nothing and begins again after each kill -9 of the engine: its
 * table is made, filled, attached and dropped. Throws unless the table held each row once whenever it was full, and `events` shows each
 * in the end. Answers how many kills interrupted a statement.
 */
export async function runThroughKills(chdb: TempChdb, run: KilledRun, kills: readonly Kill[]): Promise<number> {
  let interrupted = 0;
  for (const kill of kills) {
    try {
      await attempt(chdb, run, kill);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      interrupted += 1;
    }
  }
  await untilAvailable(() => attempt(chdb, run, undefined));
  const shown = await untilAvailable(() => countsOf(chdb.store, run.run, 'shown'));
  expectEqual(shown, expectedCounts(run.run, firstOfEach(run.segments.flat())), 'events');
  expectEqual(await untilAvailable(() => chdb.store.runTables.list()), [], 'the list of tables');
  expectEqual(await chdb.store.health(), { ok: true, detail: '' }, 'the health of the store');
  return interrupted;
}

const triesMax = 20;

/** On a busy machine an engine that is started again takes longer than a call waits for it. */
async function untilAvailable<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || tries === triesMax) throw error;
    }
  }
}

/** One row for each identity, the first of the source. */
function firstOfEach(rows: readonly EventRow[]): EventRow[] {
  const first = new Map<string, EventRow>();
  for (const row of rows.toSorted((a, b) => b.receivedAtMicros - a.receivedAtMicros)) {
    first.set(JSON.stringify([row.keyDay, row.event, row.distinctId, row.uuid]), row);
  }
  return [...first.values()];
}

async function attempt({ store, supervisor }: TempChdb, of: KilledRun, kill: Kill | undefined): Promise<void> {
  const { run, segments } = of;
  const { pid } = supervisor;
  const killed = async (): Promise<void> => {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    await until(() => supervisor.pid !== undefined && supervisor.pid !== pid, 'a new process', 60_000);
  };
  const timed =
    kill !== undefined && 'afterMs' in kill ? new Promise((done) => setTimeout(done, kill.afterMs)) : undefined;
  const killing = timed?.then(killed);
  let statement = 0;
  const step = async (work: () => Promise<unknown>): Promise<void> => {
    if (kill !== undefined && 'beforeStatement' in kill && kill.beforeStatement === statement++) {
      await killed();
      throw new StoreUnavailableError('killed between two statements');
    }
    await work();
  };
  try {
    await step(() => store.runTables.create(run));
    for (const [at, rows] of segments.entries()) await step(() => insertSegment(store, run, `${at}`, rows));
    expectEqual(await countsOf(store, run, 'rows'), expectedCounts(run, segments.flat()), 'the table of the run');
    for (const month of (await store.runTables.partitions(run)).map((each) => each.month)) {
      await step(() => store.runTables.attach(run, month));
    }
    await step(() => store.runTables.drop(run));
    await step(async () => undefined);
  } finally {
    await killing;
  }
}

function expectEqual(found: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(found, expected)) return;
  throw new Error(`expected of ${what}: ${JSON.stringify(expected)}, got: ${JSON.stringify(found)}`);
}
