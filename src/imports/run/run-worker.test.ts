import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { RunFailedError, RunLostError, type LeasedRun, type RunStage, type RunStages } from './leased-run.ts';
import { createRun, getRun } from './run-store.ts';
import { cancelRun, pauseRun, resumeRun } from './run-transitions.ts';
import { startRunWorker, failureReason, judgeFailure, type RunWorkerDeps } from './run-worker.ts';
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

async function until(state: RunState, id = 'r'): Promise<Run> {
  for (let tries = 0; tries < 400; tries += 1) {
    const run = await getRun(store.db, id);
    if (run?.state === state) return run;
    await wait(10);
  }
  throw new Error(`expected ${id} to become ${state}, got ${(await getRun(store.db, id))?.state}`);
}

const forever: RunStage = ({ signal }: LeasedRun) =>
  wait(600_000, undefined, { signal }).catch(() => signal.throwIfAborted());

it('tells how much of each stage gets done, nothing twice after a pause in between', async () => {
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
  await until('completed');
  expect(loads).toEqual([0, 30]);
  // A stage that begins anew is work that is done again.
  expect(done).toEqual({ check: 110, load: 100 });
});

describe('what follows from a failure', () => {
  it('tells what ends the run from what waiting may cure', () => {
    const unlimited = new SourceWaitError('429', { unlimited: true, retryAfterMs: 7000 });
    expect(judgeFailure(unlimited, 1000)).toMatchObject({ kind: 'again', reason: '429', waitMsMin: 7000 });
    const broken = new SourceWaitError('cut off', { unlimited: false });
    expect([judgeFailure(broken, 3).kind, judgeFailure(broken, 4).kind]).toEqual(['again', 'end']);
    expect(judgeFailure(new TargetError('wrong key'), 0).kind).toBe('end');
    expect(judgeFailure(new TargetWaitError('503'), 99).kind).toBe('again');
    const away = new StoreUnavailableError('it is started again');
    expect(judgeFailure(away, 99, away)).toMatchObject({ kind: 'again', unexpected: false });
    const full = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
    expect(judgeFailure(full, 99)).toMatchObject({ kind: 'again', unexpected: false });
    const odd = new TypeError('x');
    expect([judgeFailure(odd, 3), judgeFailure(odd, 4)]).toMatchObject([{ unexpected: true }, { kind: 'end' }]);
  });

  it('an unexpected error that comes twice in a row ends the run; one with the code of a system is waited for', () => {
    const at = (line: number) => new CheckFailure(`checking line ${line} of a.ndjson failed: x`);
    expect(judgeFailure(at(7), 1, at(7))).toEqual({ kind: 'end' });
    expect(judgeFailure(at(7), 1, at(3))).toMatchObject({ kind: 'again', unexpected: true });
    const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(judgeFailure(refused(), 1, refused())).toMatchObject({ kind: 'again', unexpected: true });
    expect(failureReason(at(7), fieldWords)).toBe(
      'an unexpected error: checking line 7 of a.ndjson failed: x. This is a defect of this program: please report it with this ' +
        'message. If it names a record, remove that from the source and start a new run; otherwise resume the run',
    );
    expect(failureReason(new TargetError('wrong key'), fieldWords)).toBe('wrong key');
  });
});

describe('a worker of import runs', () => {
  it('does the stages in order, up to the last that was asked for', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    await createRun(store.db, newRun({ id: 'c', options: { ...runOptions, last: 'check' } }));
    const { seen } = work({}, { concurrency: 1 });
    const run = await until('completed');
    expect(await until('completed', 'c')).toMatchObject({ stage: 'check' });
    expect(seen.filter((each) => each.startsWith('r'))).toEqual(
      ['export', 'check', 'load', 'verify', 'report'].map((stage) => `r ${stage}`),
    );
    expect(seen.filter((each) => each.startsWith('c'))).toEqual(['c export', 'c check']);
    expect(run).toMatchObject({ stage: 'report', waiting: null });
    expect(run.progress.verify?.finishedAt).toBeDefined();
  });

  it('several runs at once, each in the hands of one of several workers', async () => {
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
    for (const id of ids) await until('completed', id);
    expect(all.flatMap(({ seen }) => seen).toSorted()).toEqual(
      ids.flatMap((id) => [`${id} check`, `${id} export`]).toSorted(),
    );
    expect(most).toBe(4);
  });

  it('a service that stops gives its runs back, and the next one goes on in the same stage', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    const first = work({ load: forever });
    while (!first.seen.includes('r load')) await wait(5);
    await first.stop();
    expect(await getRun(store.db, 'r')).toMatchObject({ state: 'queued', stage: 'load', reason: '' });
    const { seen } = work();
    await until('completed');
    expect(seen).toEqual(['r load', 'r verify', 'r report']);
  });

  it('a pause and a cancel reach the stage within a second, and it goes on after a resume', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    const ends: string[] = [];
    const load: RunStage = (leased) => forever(leased).finally(() => ends.push('load'));
    const { seen } = work({ load }, { checkMs: 300 });
    const reached = async (ask: () => Promise<Run>): Promise<number> => {
      while (seen.at(-1) !== 'r load') await wait(5);
      const count = ends.length;
      await ask();
      // In turns of a timer, which a busy machine holds up as it does the worker's own.
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

  it('what waiting does not cure fails the run with its own sentence, and a resume goes on there', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    let broken = true;
    const load: RunStage = async () => {
      if (broken) throw new RunFailedError('expected a check that passed');
    };
    const { seen } = work({ load });
    expect(await until('failed')).toMatchObject({ stage: 'load', reason: 'expected a check that passed' });
    broken = false;
    await resumeRun(store.db, 'r');
    await until('completed');
    expect(seen.filter((each) => each === 'r export')).toHaveLength(1);
    expect(seen.filter((each) => each === 'r load')).toHaveLength(2);
  });

  it('a source that cannot be made fails the run', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    work({}, { stagesOf: () => Promise.reject(new SourceError('the config was deleted')) });
    expect(await until('failed')).toMatchObject({ stage: 'export', reason: 'the config was deleted' });
  });

  it('where waiting helps the stage is done again, and the run shows what it waits for', async () => {
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
    await until('completed');
    // The first time nothing was known of the stage; the second time it sees how far it came.
    expect(waits).toEqual([
      [undefined, undefined],
      ['no connection', 1],
    ]);
  });

  it('a failure that repeats ends the run after two attempts, with what failed', async () => {
    await createRun(store.db, newRun({ id: 'r' }));
    const { seen } = work(
      {
        check: async () => {
          throw new CheckFailure('checking line 7 of a.ndjson failed: x');
        },
      },
      { sleep: async () => undefined },
    );
    await until('failed');
    expect(seen.filter((each) => each === 'r check')).toHaveLength(2);
    expect((await getRun(store.db, 'r'))?.reason).toContain('checking line 7 of a.ndjson failed: x');
  });

  it('an error that nobody has foreseen is tried again, and shown', async () => {
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

  it('a worker whose lease was taken over writes nothing more', async () => {
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

  it('what the stages hold open is closed when the worker lets go', async () => {
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
    await until('completed');
    expect(closed).toBe(1);
  });
});
