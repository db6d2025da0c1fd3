import { RunLostError, type LeasedRun } from '../../src/imports/run/leased-run.ts';
import { type DayState, type StoredDay } from '../../src/imports/run/import-day.ts';
import {
  noTotals,
  type Run,
  type RunOptions,
  type RunTotals,
  type StageProgress,
  type Waiting,
} from '../../src/imports/run/run.ts';

export interface TestRun {
  run: Run;
  readonly days: Map<string, StoredDay>;
  readonly waits: Waiting[];
  /** A worker takes the run, as after a crash of the one before. */
  hold(): { readonly leased: LeasedRun; lose(): void };
}

const options: RunOptions = {
  range: {},
  format: 'segment',
  formatOptions: {},
  last: 'report',
  rejectedMax: 0.5,
  eventsPerSecond: 0,
  target: { kind: 'project' },
};

export const newDay: Omit<DayState, 'events' | 'bytes' | 'frames' | 'expected'> = {
  duplicates: 0,
  framesLoaded: 0,
  accepted: 0,
  rejected: 0,
  verified: false,
};

let projects = 5000;

/** For tests: what the metadata store keeps of a run of a new project, in memory; a worker that lost the run can write no more. */
export function createTestRun(id: string, more: Partial<RunOptions> = {}): TestRun {
  const test: TestRun = { run: newRun(id, { ...options, ...more }), days: new Map(), waits: [], hold };
  function hold(): { leased: LeasedRun; lose(): void } {
    const controller = new AbortController();
    const lose = (): void => controller.abort(new RunLostError('paused'));
    const writable = (): void => controller.signal.throwIfAborted();
    const unused = (): never => {
      throw new Error('expected no use of parts here');
    };
    const leased: LeasedRun = {
      run: structuredClone(test.run),
      signal: controller.signal,
      parts: unused,
      addParts: unused,
      savePart: unused,
      days: () => Promise.resolve([...test.days.values()]),
      saveDay: async (day, change) => {
        writable();
        const before = test.days.get(day);
        if (before === undefined) throw new Error(`expected the day ${day} to be known`);
        test.days.set(day, { ...before, ...change });
      },
      resetDays: async (what) => {
        writable();
        if (what !== 'verified') throw new Error(`expected verified, got: ${what}`);
        for (const [day, state] of test.days) test.days.set(day, { ...state, verified: false });
      },
      progress: (progress: StageProgress, totals?: Partial<RunTotals>) => {
        if (controller.signal.aborted) return;
        const { run } = test;
        test.run = {
          ...run,
          waiting: null,
          progress: { ...run.progress, [progress.stage]: progress },
          totals: { ...run.totals, ...totals },
        };
      },
      waiting: (waiting) => {
        test.run = { ...test.run, waiting };
        if (waiting !== null) test.waits.push(waiting);
      },
      flush: () => Promise.resolve(writable()),
      assertHeld: () => Promise.resolve(writable()),
    };
    return { leased, lose };
  }
  return test;
}

function newRun(id: string, runOptions: RunOptions): Run {
  return {
    id,
    projectId: (projects += 1),
    configId: 0,
    source: 'files',
    state: 'running',
    stage: 'load',
    reason: '',
    waiting: null,
    options: runOptions,
    progress: {},
    totals: noTotals,
    promotedFrom: null,
    createdAt: 0,
    startedAt: 0,
    finishedAt: null,
    retries: 0,
    stagingRemovedAt: null,
  };
}
