import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import type { Retry } from '../../../src/base/retry.ts';
import { createTargetRetry } from '../../../src/imports/stages/stage-retry.ts';
import { readStore } from '../../../src/imports/targets/read-store.ts';
import type { RunRef } from '../../../src/stores/events/eventstore.ts';
import type { RunStore } from '../../../src/stores/events/run-tables.ts';
import { newProject } from '../../../test/conformance/event-store/event-store.ts';
import { askReplica, replicaAccess } from '../../../test/support/clickhouse-replicas.ts';
import { seededRandom } from '../../../test/support/draw.ts';
import { passThroughTables, shownCounts, statementsOf, type PassingRun } from '../../../test/support/run-table-pass.ts';
import { countsOf } from '../../../test/support/run-table-rows.ts';
import { connectReplicas, proveRounds, type RoundProgress, type Rounds } from '../replica-rounds.ts';
import { say } from '../say.ts';
import { segmentsOf } from './segments.ts';

/** Runs that pass through their tables at the same time. */
const runsAtOnce = 3;
const shape = { segments: 8, rowsOfSegment: 1000, months: 3 };
const removedMsMax = 120_000;

/** Passes runs through their tables while replicas have outages. Rejects as soon as a table is not exact. */
export async function proveOutages(rounds: Rounds, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const store = await connectReplicas();
  await proveRounds(rounds, () => {
    const passed: Passed[] = [];
    const passRuns = async (progress: RoundProgress, over: AbortSignal): Promise<void> => {
      for (let n = 0; !over.aborted; n += 1) {
        const run = { projectId: newProject(), runId: `prove-${seed}-${n}` };
        const passing = { run, segments: segmentsOf(run, shape) };
        const steps = statementsOf(passing, shape.months);
        const stepsFirst = n % 2 === 0 ? Infinity : Math.floor(random() * steps);
        const longestCallMs = await passRun(store, passing, { progress, stepsFirst });
        passed.push({ run, longestCallMs, shown: shownCounts(passing) });
      }
    };
    return {
      run: (progress, over) => Promise.all(Array.from({ length: runsAtOnce }, () => passRuns(progress, over))),
      async faults() {
        const longest = Math.max(...passed.map(({ longestCallMs }) => longestCallMs));
        say(`${passed.length} runs, whose longest call took ${Math.round(longest / 1000)} s`);
        return [...(await differencesOf(store, passed)), ...(await leftTables())];
      },
    };
  });
  await store.close();
}

interface Passed {
  readonly run: RunRef;
  /** Of a create, insert, wait, read, attach, sort or drop, with its repetitions. */
  readonly longestCallMs: number;
  readonly shown: ReturnType<typeof shownCounts>;
}

interface Passing {
  readonly progress: RoundProgress;
  /** After so many steps the run begins again, as by a process that has noted nothing. */
  readonly stepsFirst: number;
}

class BeginsAgain extends Error {}

/** Returns how long its longest call took, in ms. */
async function passRun(store: RunStore, passing: PassingRun, { progress, stepsFirst }: Passing): Promise<number> {
  const retry = countingRetry(progress);
  let longestCallMs = 0;
  const answered = async <T>(work: () => Promise<T>): Promise<T> => {
    const begun = performance.now();
    const result = await retry(() => readStore(work));
    longestCallMs = Math.max(longestCallMs, performance.now() - begun);
    return result;
  };
  let steps = 0;
  const pass = (stepsMax: number): Promise<void> =>
    passThroughTables(store, passing, {
      isRepeated: stepsMax === Infinity && steps > 0,
      read: answered,
      async change(work, rows = 0) {
        if (steps++ === stepsMax) throw new BeginsAgain();
        progress.waiting += rows;
        await answered(work);
        progress.waiting -= rows;
        progress.stored += rows;
      },
    });
  try {
    await pass(stepsFirst);
  } catch (error) {
    if (!(error instanceof BeginsAgain)) throw error;
    await pass(Infinity);
  }
  return longestCallMs;
}

/** Repeats calls as the stages of an import do. */
function countingRetry(progress: RoundProgress): Retry {
  const { signal } = new AbortController();
  const waiting = (wait: unknown): void => void (progress.retries += wait === null ? 0 : 1);
  return createTargetRetry({ leased: { signal, waiting }, clock: systemClock });
}

async function differencesOf(store: RunStore, passed: readonly Passed[]): Promise<string[]> {
  const found: string[] = [];
  for (const { run, shown } of passed) {
    const stored = JSON.stringify(await countsOf(store, run, 'shown'));
    const expected = JSON.stringify(shown);
    if (stored !== expected) found.push(`run ${run.runId}: expected ${expected} in events, got ${stored}`);
  }
  return found;
}

/** Returns the tables of runs that a server still has, once it had time to execute what was dropped without it. */
async function leftTables(): Promise<string[]> {
  const access = replicaAccess();
  const sql = `SELECT arrayStringConcat(groupArray(name), ', ') FROM system.tables WHERE database = currentDatabase() AND name LIKE 'run\\_%'`;
  for (const end = performance.now() + removedMsMax; ; await sleep(1000)) {
    const left: string[] = [];
    for (const { host } of access.shards.flat()) {
      const tables = await askReplica(access, host, sql);
      if (tables !== '') left.push(`${host} still has ${tables}`);
    }
    if (left.length === 0 || performance.now() > end) return left;
  }
}
