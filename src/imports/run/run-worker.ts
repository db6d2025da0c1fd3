import type { Clock } from '../../base/clock.ts';
import { createRetry, type Sleep } from '../../base/retry.ts';
import { takeWork } from '../../base/take-work.ts';
import { createDatabaseClock, type DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { keepLease } from '../../stores/metadata/lease.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { stagesOf } from './eta.ts';
import { fieldWords, type AdviceWords } from './advice-words.ts';
import { RunLostError, RunFailedError, type RunStages } from './leased-run.ts';
import { createRunWriter, type RunWriter } from './run-writer.ts';
import {
  claimRun,
  completeRun,
  enterStage,
  failRun,
  isClaimed,
  kindOf,
  releaseRun,
  renew,
  type Claim,
  type HeldRun,
  type RunKind,
} from './claim-run.ts';
import { refusalOf } from './run-deaths.ts';
import type { RunWatcher } from './run-watcher.ts';
import type { Run, Stage } from './run.ts';
import { SourceError, SourceWaitError } from '../source.ts';
import { StoreUnavailableError } from '../../stores/events/eventstore.ts';
import { FormatOptionsError } from '../formats/format.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { TargetError, TargetWaitError } from '../target.ts';

/** Stages of one run; their resources are closed when the worker releases the run. */
export type OpenStages = RunStages & Partial<AsyncDisposable>;

export interface RunWorkerDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Clock of leases; default that of `db`. */
  readonly databaseClock?: DatabaseClock;
  readonly log: Log;
  /** Creates the stages of a claimed run. Its errors end the run like those of a stage. */
  readonly stagesOf: (run: Run) => Promise<OpenStages>;
  /** Aborts the stages, waits for them and releases their runs. */
  readonly signal: AbortSignal;
  /** Runs at the same time. */
  readonly concurrency: number;
  /** Claims only this run. */
  readonly onlyRun?: string;
  /** Words of advice; default those of the API. */
  readonly words?: AdviceWords;
  /** Claims only runs of this kind. */
  readonly kind?: RunKind;
  /** Interval of polling for runs, default 1,000. */
  readonly pollMs?: number;
  /** Interval of checking whether the run was paused, default 300. */
  readonly checkMs?: number;
  /** Duration of a lease without renewal, default 30,000. */
  readonly leaseMs?: number;
  readonly random?: () => number;
  readonly sleep?: Sleep;
  /** Called with the additional amount done: records in `export` and `check`, events in `load` and `verify`. */
  readonly onDone?: (stage: Stage, more: number) => void;
  readonly watcher?: RunWatcher;
  /** Called with each claimed run; the returned function is called on release. */
  readonly onClaim?: (held: HeldRun) => () => void;
}

interface RunWorker {
  /** Resolves when everything has stopped after the signal. */
  readonly done: Promise<void>;
}

type WorkerDeps = RunWorkerDeps & Required<Pick<RunWorkerDeps, 'databaseClock' | 'pollMs' | 'checkMs' | 'leaseMs'>>;

/** Claims due runs and does their stages. Several workers, also in several processes, share the runs. */
export function startRunWorker(deps: RunWorkerDeps): RunWorker {
  const { pollMs = 1000, checkMs = 300, leaseMs = 30_000, databaseClock = createDatabaseClock(deps.db) } = deps;
  return { done: takeRuns({ ...deps, databaseClock, pollMs, checkMs, leaseMs }) };
}

async function takeRuns(deps: WorkerDeps): Promise<void> {
  const { db, databaseClock, signal, pollMs, leaseMs, onlyRun, kind } = deps;
  // A run that was paused and resumed is not claimed while its stage is still ending here.
  const inHand = new Map<string, Claim>();
  const outlived = new Map<string, number>();
  const claim = async (): Promise<Claim | undefined> => {
    // Runs that may have killed a worker are tried one at a time, so that none answers for another.
    const withoutDeaths = [...inHand.values()].some(({ deaths }) => deaths !== undefined && deaths.ended > 0);
    const of = { onlyRun, except: inHand.keys(), kind, outlived, withoutDeaths };
    return await claimRun(db, await databaseClock.now(), leaseMs, of);
  };
  await takeWork({
    claim,
    work: async (claimed) => {
      const { id } = claimed.run;
      inHand.set(id, claimed);
      const release = deps.onClaim?.({ id, attempt: claimed.attempt });
      await workOn(deps, claimed);
      inHand.delete(id);
      outlived.set(id, claimed.attempt);
      release?.();
    },
    atOnceMax: deps.concurrency,
    pollMs,
    signal,
    onTrouble: (err) => deps.log.error({ err }, 'import: metadata store unavailable; retrying'),
  });
}

/** Never rejects: if the outcome cannot be recorded, the lease expires and the run is claimed again. */
async function workOn(deps: WorkerDeps, claim: Claim): Promise<void> {
  const { db, clock, log } = deps;
  const run = claim.run.id;
  const lost = new AbortController();
  const onLost = (): void =>
    lost.abort(new RunLostError(`import run ${run} was paused, cancelled or claimed by another worker`));
  const signal = AbortSignal.any([deps.signal, lost.signal]);
  const onTrouble = (err: unknown): void => log.warn({ err, run }, 'import: failed to write progress');
  const leased = reportWaits(createRunWriter({ db, clock, signal, onLost, onTrouble }, claim), deps);
  const release = keepClaim(deps, claim, onLost);
  try {
    const refusal = await refusalOf(db, run, claim.deaths);
    if (refusal !== undefined) throw refusal;
    const next = await doStages(deps, claim, leased);
    if (next === undefined) await settleDone(deps, claim, leased);
    else await releaseRun(db, claim);
  } catch (error) {
    await settleFailure(deps, claim, { leased, lost: lost.signal.aborted, error });
  } finally {
    await release();
  }
}

/** Returns the next stage if another kind of worker does it; `undefined` when all are done. */
async function doStages(deps: WorkerDeps, claim: Claim, leased: RunWriter): Promise<Stage | undefined> {
  await using stages = disposable(await withRetry(deps, leased, () => deps.stagesOf(claim.run)));
  const stagesToDo = stagesOf(claim.run);
  for (const stage of stagesToDo.slice(Math.max(0, stagesToDo.indexOf(claim.run.stage)))) {
    leased.signal.throwIfAborted();
    const isOthers = deps.kind !== undefined && kindOf(stage) !== deps.kind;
    if (isOthers) await leased.flush();
    if (!(await enterStage(deps.db, claim, stage)))
      throw new RunLostError(`lost the lease of import run ${claim.run.id}`);
    if (isOthers) return stage;
    deps.log.info({ run: claim.run.id, stage }, 'import: stage begins');
    // The run before the stage began, from which stages see whether they are repeated.
    let before: Run | undefined = leased.current();
    leased.beginStage(stage);
    deps.watcher?.entered(leased.current(), stage);
    await leased.flush();
    const perform = async (): Promise<void> => {
      const run = { ...(before ?? leased.current()), stage };
      before = undefined;
      const done = run.progress[stage]?.done ?? 0;
      await stages.of[stage]({ ...leased, run, progress: countDone(leased, done, deps) });
    };
    await withRetry(deps, leased, perform, stage);
    leased.endStage(stage);
    await leased.flush();
  }
  return undefined;
}

/** Reports progress, and by how much `done` grew since `before`. A stage that starts from scratch is counted from 0. */
function countDone(
  leased: RunWriter,
  before: number,
  { onDone, watcher }: Pick<RunWorkerDeps, 'onDone' | 'watcher'>,
): RunWriter['progress'] {
  let seen = before;
  return (progress, totals) => {
    if (progress.done > seen) onDone?.(progress.stage, progress.done - seen);
    seen = progress.done;
    leased.progress(progress, totals);
    watcher?.progressed(leased.current());
  };
}

/** Adds a log line and a call of the watcher for each new reason to wait. */
function reportWaits(leased: RunWriter, { log, watcher }: Pick<WorkerDeps, 'log' | 'watcher'>): RunWriter {
  let reported = '';
  return {
    ...leased,
    waiting: (waiting) => {
      leased.waiting(waiting);
      if (waiting !== null && waiting.reason !== reported) {
        log.info({ run: leased.run.id, reason: waiting.reason }, 'import: run waits');
        watcher?.waits(leased.current(), waiting.reason);
      }
      reported = waiting?.reason ?? '';
    },
  };
}

function disposable(of: OpenStages): { readonly of: OpenStages } & AsyncDisposable {
  return { of, [Symbol.asyncDispose]: async () => of[Symbol.asyncDispose]?.() };
}

/** Retries while waiting may help, and shows the reason. Throws errors that end the run. */
function withRetry<T>(deps: WorkerDeps, leased: RunWriter, work: () => Promise<T>, stage?: Stage): Promise<T> {
  const { clock, random, sleep, log } = deps;
  let last: unknown;
  return createRetry({
    firstWaitMs: 1000,
    waitMsMax: 600_000,
    signal: leased.signal,
    clock,
    random,
    sleep,
    onWait: (wait) => leased.waiting(wait && { reason: wait.reason, until: wait.until }),
    judge: (error, { failures, backoffMs }) => {
      const verdict = classifyFailure(error, failures, last);
      last = error;
      if (verdict.kind === 'end') return undefined;
      if (verdict.unexpected) log.error({ err: error, run: leased.run.id, stage }, 'import: stage failed, retrying');
      return { reason: verdict.reason, waitMs: Math.max(verdict.waitMsMin, backoffMs) };
    },
  })(work);
}

async function settleDone({ db, clock, log, watcher }: WorkerDeps, claim: Claim, leased: RunWriter): Promise<void> {
  await leased.flush();
  if (!(await completeRun(db, claim, clock.now()))) return;
  log.info({ run: claim.run.id }, 'import: run completed');
  watcher?.ended(leased.current(), 'completed', '');
}

async function settleFailure(
  { db, clock, log, signal, watcher, words = fieldWords }: WorkerDeps,
  claim: Claim,
  { leased, lost, error }: { readonly leased: RunWriter; readonly lost: boolean; readonly error: unknown },
): Promise<void> {
  const run = claim.run.id;
  try {
    if (lost || error instanceof RunLostError) {
      log.info({ run }, 'import: lease released');
      watcher?.ended(leased.current(), 'lost', '');
      return;
    }
    await leased.flush();
    if (signal.aborted) {
      await releaseRun(db, claim);
      watcher?.ended(leased.current(), 'released', '');
      return;
    }
    const reason = failureReason(error, words);
    log.error({ err: error, run }, 'import: run failed');
    if (await failRun(db, claim, reason, clock.now())) watcher?.ended(leased.current(), 'failed', reason);
  } catch (trouble) {
    if (trouble instanceof RunLostError) return;
    log.error({ err: trouble, run }, 'import: failed to record the outcome of a run; it will be claimed again');
  }
}

/** Renews the lease, and detects within `checkMs` that the run is no longer held. */
function keepClaim({ db, databaseClock, log, checkMs, leaseMs }: WorkerDeps, claim: Claim, onLost: () => void) {
  return keepLease({
    leaseMs,
    renew: async () => renew(db, claim, await databaseClock.now(), leaseMs),
    check: { checkMs, isHeld: () => isClaimed(db, claim) },
    // After that another process may claim it.
    lostAfterMs: leaseMs,
    onLost,
    onTrouble: (err) => log.warn({ err, run: claim.run.id }, 'import: failed to renew the lease'),
  });
}

/** Returns why a run has failed and, where the error gives advice, the next step in these words. */
export function failureReason(error: unknown, words: Pick<AdviceWords, 'resume' | 'startAgain'>): string {
  const message = error instanceof Error ? error.message : String(error);
  const advice = error instanceof RunFailedError || error instanceof SourceError ? error.advice : undefined;
  switch (advice) {
    case undefined:
      return isUnexpected(error) ? unexpectedReason(message, words) : message;
    case 'resume':
      return `${message}; then ${words.resume}`;
    case 'startAgain':
      return `${message}; ${words.startAgain}`;
    case 'resumeOrStartAgain':
      return `${message}; then ${words.resume}, or ${words.startAgain}`;
  }
}

/** Retries have not helped, and no setting will. */
function unexpectedReason(message: string, { resume, startAgain }: Pick<AdviceWords, 'resume' | 'startAgain'>): string {
  return (
    `an unexpected error: ${message}. This is a defect of this program: please report it with this message. If it names a record, ` +
    `remove that from the source and ${startAgain}; otherwise ${resume}`
  );
}

type FailureVerdict =
  /** Waiting would not help, or the run is no longer held. */
  | { readonly kind: 'end' }
  /** The stage is repeated after a while. */
  | { readonly kind: 'again'; readonly reason: string; readonly waitMsMin: number; readonly unexpected: boolean };

const ends = [RunLostError, RunFailedError, SourceError, TargetError, FormatOptionsError, SettingsError];
/** Attempts after a malformed response or an unexpected error. */
const triesMax = 5;
const fullDiskCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);
const fullDiskWaitMs = 10_000;

/**
 * Decides what happens after a stage threw. An unexpected error that occurs twice in a row is permanent, unless the system or a server
 * gave it a code.
 * @param failures number of earlier failures of this stage
 * @param last the previous error
 */
export function classifyFailure(error: unknown, failures: number, last?: unknown): FailureVerdict {
  if (ends.some((kind) => error instanceof kind)) return { kind: 'end' };
  if (error instanceof SourceWaitError || error instanceof TargetWaitError) {
    const isBroken = error instanceof SourceWaitError && !error.unlimited;
    if (isBroken && failures + 1 >= triesMax) return { kind: 'end' };
    return { kind: 'again', reason: error.message, waitMsMin: error.retryAfterMs ?? 0, unexpected: false };
  }
  if (error instanceof StoreUnavailableError) {
    return { kind: 'again', reason: 'the event store is busy or cannot be reached', waitMsMin: 0, unexpected: false };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (isFullDisk(error)) {
    const reason = `the disk is full (${message}); free some space`;
    return { kind: 'again', reason, waitMsMin: fullDiskWaitMs, unexpected: false };
  }
  if (failures + 1 >= triesMax || isRepeated(error, last)) return { kind: 'end' };
  return { kind: 'again', reason: `an unexpected error: ${message}`, waitMsMin: 0, unexpected: true };
}

function isRepeated(error: unknown, last: unknown): boolean {
  if (!(error instanceof Error && last instanceof Error)) return false;
  return error.name === last.name && error.message === last.message && !hasCode(error);
}

function hasCode(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string';
}

/** Returns whether the error is a defect of this program. */
function isUnexpected(error: unknown): boolean {
  const known = [...ends, SourceWaitError, TargetWaitError, StoreUnavailableError];
  return !known.some((kind) => error instanceof kind) && !isFullDisk(error);
}

function isFullDisk(error: unknown): boolean {
  return error instanceof Error && 'code' in error && fullDiskCodes.has(error.code);
}
