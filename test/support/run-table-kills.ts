import { StoreUnavailableError } from '../../src/stores/events/eventstore.ts';
import { until, type TempChdb } from './chdb.ts';
import { expectEqual, passThroughTables, shownCounts, type PassingRun } from './run-table-pass.ts';
import { countsOf } from './run-table-rows.ts';

/** When the engine is killed: before the statement of this number, or so many ms after its work began. */
export type Kill = { readonly beforeStatement: number } | { readonly afterMs: number };

/**
 * Passes a run through its tables as by a process that notes nothing and begins again after each kill -9 of the engine. Throws unless
 * `events` shows each row once in the end, too. Returns how many kills interrupted a statement.
 */
export async function runThroughKills(chdb: TempChdb, run: PassingRun, kills: readonly Kill[]): Promise<number> {
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
  expectEqual(shown, shownCounts(run), 'events');
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

async function attempt({ store, supervisor }: TempChdb, run: PassingRun, kill: Kill | undefined): Promise<void> {
  const { pid } = supervisor;
  const killed = async (): Promise<void> => {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    await until(() => supervisor.pid !== undefined && supervisor.pid !== pid, 'a new process', 60_000);
  };
  const timed =
    kill !== undefined && 'afterMs' in kill ? new Promise((done) => setTimeout(done, kill.afterMs)) : undefined;
  const killing = timed?.then(killed);
  let statement = 0;
  const change = async (work: () => Promise<void>): Promise<void> => {
    if (kill !== undefined && 'beforeStatement' in kill && kill.beforeStatement === statement++) {
      await killed();
      throw new StoreUnavailableError('killed between two statements');
    }
    await work();
  };
  try {
    await passThroughTables(store, run, { change, read: (work) => work(), isRepeated: true });
    await change(async () => undefined);
  } finally {
    await killing;
  }
}
