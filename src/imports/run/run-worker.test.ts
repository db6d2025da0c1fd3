import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { RunFailedError, RunLostError, type LeasedRun, type RunStage, type RunStages } from './leased-run.ts';
import { createRun, getRun } from './run-store.ts';
import { cancelRun, pauseRun, resumeRun } from './run-transitions.ts';
import { startRunWorker, failureReason, classifyFailure, type RunWorkerDeps } from './run-worker.ts';
import type { Run, RunState, Stage } from './run.ts';
import { SourceError, SourceWaitError } from '../source.ts';
import { fieldWords } from './advice-words.ts';
import { CheckFailure } from '../stages/check/check-failure.ts';
import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import { TargetError, TargetWaitError } from '../target.ts';
import { newRun, runOptions } from '../../../test/support/runs.ts';

let store: TempMetadata;
let stop: AbortController;
let workers: Promise<void>[];
beforeEach(async () => {
  store = await tempMetadata();
  stop = new AbortController();
  workers = [];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(workers);
  await store[Symbol.asyncDispose]();
});

interface Worker {
  readonly seen: string[];
  readonly stop: () => Promise<void>;
}

function work(stages: Partial<RunStages> = {}, more: Partial<RunWorkerDeps> = {}): Worker {
  const seen: string[] = [];
  const own = new AbortController();
  const stage =
    (name: Stage): RunStage =>
    async (leased) => {
      seen.push(`${leased.run.id} ${name}`);
      await stages[name]?.(leased);
    };
  const worker = startRunWorker({
    db: store.db,
    clock: { now: () => Date.now() },
    log: createLog('silent'),
    stagesOf: async () => ({
      export: stage('export'),
      check: stage('check'),
      load: stage('load'),
      verify: stage('verify'),
      report: stage('report'),
      undo: stage('undo'),
      replace: stage('replace'),
    }),
    signal: AbortSignal.any([stop.signal, own.signal]),
    concurrency: 2,
    pollMs: 20,
    checkMs: 50,
    random: () => 0,
    sleep: (ms, signal) => wait(ms / 5, undefined, { signal }),
    ...more,
  });
  workers.push(worker.done);
  return {
    seen,
    stop: async () => {
      own.abort(new Error('the service stops'));
      await worker.done;
    },
  };
}

async function waitForState(state: RunState, id = 'r'): Promise<Run> {
  for (let tries = 0; tries < 400; tries += 1) {
    const run = await getRun(store.db, id);
    if (run?.state === state) return run;
    await wait(10);
  }
  throw new Error(`expected ${id} to become ${state}, got ${(await getRun(store.db, id))?.state}`);
}

const forever: RunStage = ({ signal }: LeasedRun) =>
  wait(600_000, undefined, { signal }).catch(() => signal.throwIfAborted());

it('reports how much of each stage gets done, nothing twice after a pause', async () => {
  const done: Partial<Record<Stage, number>> = {};
  const onDone = (stage: Stage, more: number): void => void (done[stage] = (done[stage] ?? 0) + more);
  const at = (stage: Stage, count: number) => ({ stage, partsDone: 0, done: count, bytes: 0, rate: 0 });
  await createRun(store.db, newRun({ id: 'r' }));
  const loads: number[] = [];
  const load: RunStage = async (leased) => {
    loads.push(leased.run.progress.load?.done ?? 0);
    leased.progress(at('load', loads.length === 1 ? 30 : 40));
    await leased.flush();
    if (loads.length === 1) await forever(leased);
    leased.progress(at('load', 100));
  };
  const check: RunStage = async (leased) => {
    for (const count of [20, 100, 0, 10]) leased.progress(at('check', count));
  };
  const first = work({ check, load }, { onDone });
  while (loads.length === 0 || done.load === undefined) await wait(10);
  await first.stop();
  work({ check, load }, { onDone });
  await waitForState('completed');
  expect(loads).toEqual([0, 30]);
  // A stage that starts from scratch does work again.
  expect(done).toEqual({ check: 110, load: 100 });
});

describe('after a failure', () => {
  it('errors that end the run are distinguished from those that waiting may cure', () => {
    const unlimited = new SourceWaitError('429', { unlimited: true, retryAfterMs: 7000 });
    expect(classifyFailure(unlimited, 1000)).toMatchObject({ kind: 'again', reason: '429', waitMsMin: 7000 });
    const broken = new SourceWaitError('cut off', { unlimited: false });
    expect([classifyFailure(broken, 3).kind, classifyFailure(broken, 4).kind]).toEqual(['again', 'end']);
    expect(classifyFailure(new TargetError('wrong key'), 0).kind).toBe('end');
    expect(classifyFailure(new TargetWaitError('503'), 99).kind).toBe('again');
    const away = new StoreUnavailableError('it is started again');
    expect(classifyFailure(away, 99, away)).toMatchObject({ kind: 'again', unexpected: false });
    const full = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
    expect(classifyFailure(full, 99)).toMatchObject({ kind: 'again', unexpected: false });
    const unexpected = new TypeError('x');
    expect([classifyFailure(unexpected, 3), classifyFailure(unexpected, 4)]).toMatchObject([
      { unexpected: true },
      { kind: 'end' },
    ]);
  });

  it('an unexpected error that occurs twice in a row ends the run; one with a system code is retried', () => {
    const at = (line: number) => new CheckFailure(`checking line ${line} of a.ndjson failed: x`);
    expect(classifyFailure(at(7), 1, at(7))).toEqual({ kind: 'end' });
    expect(classifyFailure(at(7), 1, at(3))).toMatchObject({ kind: 'again', unexpected: true });
    const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(classifyFailure(refused(), 1, refused())).toMatchObject({ kind: 'again', unexpected: true });
    expect(failureReason(at(7), fieldWords)).toBe(
      'an unexpected error: checking line 7 of a.ndjson failed: x. This is a defect of this program: please report it with this ' +
        'message. If it names a record, remove that from the source and start a new run; otherwise resume the run',
    );
    expect(failureReason(new TargetError('wrong key'), fieldWords)).toBe('wrong key');
  });
});

describe('a worker of import runs', () => {
  it('does the stages in order, up to the last requested one', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    await createRun(store.db, newRun({ id: 'c', options: { ...runOptions, last: 'check' } }));
    const { seen } = work({}, { concurrency: 1 });
    const run = await waitForState('completed');
    expect(await waitForState('completed', 'c')).toMatchObject({ stage: 'check' });
    expect(seen.filter((each) => each.startsWith('r'))).toEqual(
      ['export', 'check', 'load', 'verify', 'report'].map((stage) => `r ${stage}`),
    );
    expect(seen.filter((each) => each.startsWith('c'))).toEqual(['c export', 'c check']);
    expect(run).toMatchObject({ stage: 'report', waiting: null });
    expect(run.progress.verify?.finishedAt).toBeDefined();
  });

  it('does several runs at the same time, each held by one of several workers', async () => {
    const ids = Array.from({ length: 12 }, (_, n) => `r${n}`);
    for (const id of ids) await createRun(store.db, newRun({ id, options: { ...runOptions, last: 'check' } }));
    let [now, most] = [0, 0];
    const slow: RunStage = async () => {
      now += 1;
      most = Math.max(most, now);
      await wait(20);
      now -= 1;
    };
    const all = [work({ export: slow }), work({ export: slow })];
    for (const id of ids) await waitForState('completed', id);
    expect(all.flatMap(({ seen }) => seen).toSorted()).toEqual(
      ids.flatMap((id) => [`${id} check`, `${id} export`]).toSorted(),
    );
    expect(most).toBe(4);
  });

  it('releases its runs when the service stops, and the next one continues in the same stage', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    const first = work({ load: forever });
    while (!first.seen.includes('r load')) await wait(5);
    await first.stop();
    expect(await getRun(store.db, 'r')).toMatchObject({ state: 'queued', stage: 'load', reason: '' });
    const { seen } = work();
    await waitForState('completed');
    expect(seen).toEqual(['r load', 'r verify', 'r report']);
  });

  it('stops a stage within a second of a pause or a cancel, and continues it after a resume', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    const ends: string[] = [];
    const load: RunStage = (leased) => forever(leased).finally(() => ends.push('load'));
    const { seen } = work({ load }, { checkMs: 300 });
    const reached = async (request: () => Promise<Run>): Promise<number> => {
      while (seen.at(-1) !== 'r load') await wait(5);
      const count = ends.length;
      await request();
      // Counts timer turns, which a busy machine delays as it does the worker's own.
      let waitedMs = 0;
      for (; ends.length === count; waitedMs += 50) await wait(50);
      return waitedMs;
    };
    expect(await reached(() => pauseRun(store.db, 'r'))).toBeLessThan(1000);
    seen.push('resumed');
    await resumeRun(store.db, 'r');
    expect(await reached(() => cancelRun(store.db, 'r', Date.now()))).toBeLessThan(1000);
    expect((await getRun(store.db, 'r'))?.state).toBe('cancelled');
    expect(seen).toEqual(['r export', 'r check', 'r load', 'resumed', 'r load']);
  });

  it('fails a run that waiting would not help with its own message, and a resume continues there', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    let broken = true;
    const load: RunStage = async () => {
      if (broken) throw new RunFailedError('expected a check that passed');
    };
    const { seen } = work({ load });
    expect(await waitForState('failed')).toMatchObject({ stage: 'load', reason: 'expected a check that passed' });
    broken = false;
    await resumeRun(store.db, 'r');
    await waitForState('completed');
    expect(seen.filter((each) => each === 'r export')).toHaveLength(1);
    expect(seen.filter((each) => each === 'r load')).toHaveLength(2);
  });

  it('fails a run whose source cannot be created', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    work({}, { stagesOf: () => Promise.reject(new SourceError('the config was deleted')) });
    expect(await waitForState('failed')).toMatchObject({ stage: 'export', reason: 'the config was deleted' });
  });

  it('repeats a stage if waiting helps, and the run shows what it waits for', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    let tries = 0;
    const waits: unknown[] = [];
    const verify: RunStage = async ({ run, progress }) => {
      tries += 1;
      waits.push([run.waiting?.reason, run.progress.verify?.done]);
      progress({ stage: 'verify', partsDone: 0, done: tries, bytes: 0, rate: 0 });
      if (tries < 2) throw new SourceWaitError('no connection', { unlimited: true });
    };
    work({ verify });
    await waitForState('completed');
    // The first attempt knows nothing of the stage; the second one sees its progress.
    expect(waits).toEqual([
      [undefined, undefined],
      ['no connection', 1],
    ]);
  });

  it('ends a run after the same failure twice, with what failed', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    const { seen } = work(
      {
        check: async () => {
          throw new CheckFailure('checking line 7 of a.ndjson failed: x');
        },
      },
      { sleep: async () => undefined },
    );
    await waitForState('failed');
    expect(seen.filter((each) => each === 'r check')).toHaveLength(2);
    expect((await getRun(store.db, 'r'))?.reason).toContain('checking line 7 of a.ndjson failed: x');
  });

  it('retries an unexpected error, and shows it', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    let tries = 0;
    const { seen } = work({
      check: async () => {
        throw new TypeError(`x is not a function (${(tries += 1)})`);
      },
    });
    const reason = async () => (await getRun(store.db, 'r'))?.waiting?.reason;
    while ((await reason()) === undefined) await wait(10);
    expect(await reason()).toBe('an unexpected error: x is not a function (1)');
    const checks = () => seen.filter((each) => each === 'r check').length;
    while (checks() < 2) await wait(10);
    expect(await getRun(store.db, 'r')).toMatchObject({ state: 'running', stage: 'check' });
  });

  it('writes nothing more after another worker claimed its run', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    const reasons: unknown[] = [];
    const first = work({ export: (leased) => forever(leased).catch((error: unknown) => void reasons.push(error)) });
    while (first.seen.length === 0) await wait(5);
    await store.db.updateTable('import_runs').set({ attempts: 9 }).where('id', '=', 'r').execute();
    while (reasons.length === 0) await wait(5);
    await wait(50);
    expect(first.seen).toEqual(['r export']);
    expect(reasons[0]).toBeInstanceOf(RunLostError);
    expect(await getRun(store.db, 'r')).toMatchObject({ state: 'running', stage: 'export' });
  });

  it('closes what the stages hold open when it releases the run', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    let closed = 0;
    const noStage = async (): Promise<void> => undefined;
    const stages = {
      export: noStage,
      check: noStage,
      load: noStage,
      verify: noStage,
      report: noStage,
      undo: noStage,
      replace: noStage,
    };
    work({}, { stagesOf: async () => ({ ...stages, [Symbol.asyncDispose]: async () => void (closed += 1) }) });
    await waitForState('completed');
    expect(closed).toBe(1);
  });
});
