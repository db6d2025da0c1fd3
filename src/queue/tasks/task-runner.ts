import { backoffMs } from '../../base/retry.ts';
import { hourMs } from '../../base/time.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { createDatabaseClock, type DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { keepLease } from '../../stores/metadata/lease.ts';
import type { Log } from '../../server/telemetry/log.ts';
import {
  claimTask,
  completeTask,
  failTask,
  isTaskHeld,
  noteTaskError,
  pruneTasks,
  releaseTask,
  renewTask,
  saveTaskProgress,
  type ClaimedTask,
} from './task-store.ts';
import { TaskFailedError, TaskLostError, type HeldTask, type TaskKind } from './task.ts';

export interface TaskRunnerDeps {
  readonly db: Metadata;
  readonly log: Log;
  /** Aborted when the service stops. */
  readonly signal: AbortSignal;
  /** Default: that of `db`. */
  readonly databaseClock?: DatabaseClock;
  /** Poll interval, ms. */
  readonly pollMs?: number;
  readonly leaseMs?: number;
  /** Wait after the first failure, ms; doubles with each. */
  readonly retryMs?: number;
}

const defaults = { pollMs: 1000, leaseMs: 30_000, retryMs: 1000 } as const;
const retryMsMax = 60_000;
const pruneEveryMs = hourMs;
/** Consecutive failures without progress: about half an hour. */
const failuresMax = 30;

type RunnerDeps = TaskRunnerDeps & Required<Pick<TaskRunnerDeps, 'databaseClock' | keyof typeof defaults>>;

/** Executes tasks, one of each kind at a time, until the signal; resolves when all have stopped. Never rejects. */
export async function runTasks(given: TaskRunnerDeps, kinds: readonly TaskKind[]): Promise<void> {
  const deps = { ...defaults, databaseClock: createDatabaseClock(given.db), ...given };
  await Promise.all(kinds.map((kind) => runKind(deps, kind)));
}

async function runKind(deps: RunnerDeps, kind: TaskKind): Promise<void> {
  const { db, log, signal, databaseClock, leaseMs, pollMs } = deps;
  let pruneAt = -Infinity;
  while (!signal.aborted) {
    let claim: ClaimedTask | undefined;
    try {
      const now = await databaseClock.now();
      claim = await claimTask(db, kind.name, { now, leaseMs });
      if (claim === undefined && kind.keptMs !== undefined && performance.now() >= pruneAt) {
        pruneAt = performance.now() + pruneEveryMs;
        const removed = await pruneTasks(db, kind.name, now - kind.keptMs);
        if (removed > 0) log.info({ kind: kind.name, removed }, 'removed old tasks');
      }
    } catch (err) {
      log.warn({ err, kind: kind.name }, 'failed to claim a task, retrying');
    }
    if (claim === undefined) await pause(pollMs, signal);
    else await runHeld(deps, kind, claim);
  }
}

/** Works on a task until it ends, is lost or the service stops. */
async function runHeld(deps: RunnerDeps, kind: TaskKind, claim: ClaimedTask): Promise<void> {
  const { db, log, databaseClock, leaseMs } = deps;
  const lost = new AbortController();
  const release = keepLease({
    leaseMs,
    renew: async () => renewTask(db, claim, (await databaseClock.now()) + leaseMs),
    // Notices a cancellation soon.
    check: { checkMs: deps.pollMs, isHeld: () => isTaskHeld(db, claim) },
    lostAfterMs: leaseMs,
    onLost: () => lost.abort(new TaskLostError()),
    onTrouble: (err) => log.warn({ err, task: claim.id, kind: kind.name }, 'failed to renew the lease of a task'),
  });
  log.info({ task: claim.id, kind: kind.name, project_id: claim.projectId, attempt: claim.epoch }, 'task started');
  try {
    await runUntilEnd(deps, kind, claim, AbortSignal.any([deps.signal, lost.signal]));
  } finally {
    await release();
  }
  // After a stop the next worker need not wait for the lease to expire.
  if (deps.signal.aborted) {
    await releaseTask(db, claim).catch((err: unknown) => log.warn({ err, task: claim.id }, 'failed to release a task'));
  }
}

async function runUntilEnd(deps: RunnerDeps, kind: TaskKind, claim: ClaimedTask, signal: AbortSignal): Promise<void> {
  const { db, databaseClock, retryMs } = deps;
  let { progress } = claim;
  let failures = 0;
  const orLost = (isHeld: boolean): void => {
    if (!isHeld) throw new TaskLostError();
  };
  const advanced = (next: unknown): void => {
    progress = next;
    failures = 0;
  };
  const task = (): HeldTask<unknown, unknown> => ({
    ...claim,
    progress,
    signal,
    save: async (next) => {
      signal.throwIfAborted();
      orLost(await saveTaskProgress(db, claim, next));
      advanced(next);
    },
    commit: async (work) => {
      signal.throwIfAborted();
      const next = await db.transaction().execute(async (tx) => {
        const made = await work(tx);
        orLost(await saveTaskProgress(tx, claim, made));
        return made;
      });
      advanced(next);
      return next;
    },
    waiting: async (reason) => orLost(await noteTaskError(db, claim, reason)),
  });
  while (!signal.aborted) {
    try {
      const result = await kind.run(task());
      orLost(await completeTask(db, claim, result, await databaseClock.now()));
      return deps.log.info({ task: claim.id, kind: kind.name }, 'task done');
    } catch (error) {
      if (signal.aborted || error instanceof TaskLostError) return cleanUp(deps, kind, { ...claim, progress });
      failures += 1;
      const isFinal = error instanceof TaskFailedError || failures >= failuresMax;
      deps.log.warn(
        { err: error, task: claim.id, kind: kind.name, failures },
        isFinal ? 'task failed' : 'task stalled',
      );
      if (isFinal) {
        if (await failTask(db, claim, messageOf(error), await databaseClock.now())) {
          await cleanUp(deps, kind, { ...claim, progress });
        }
        return;
      }
      await noteTaskError(db, claim, messageOf(error)).catch(() => undefined);
      await pause(backoffMs(failures - 1, retryMs, retryMsMax), signal);
    }
  }
}

/** Removes what a cancelled or failed task left behind. One that only changed its worker keeps it. */
async function cleanUp({ db, log }: RunnerDeps, kind: TaskKind, task: ClaimedTask): Promise<void> {
  try {
    const row = await db.selectFrom('tasks').select('state').where('id', '=', task.id).executeTakeFirst();
    // A project that was deleted has no tasks any more.
    if (row === undefined || row.state === 'cancelled' || row.state === 'failed') await kind.cleanUp?.(task);
  } catch (err) {
    log.warn({ err, task: task.id, kind: kind.name }, 'failed to clean up after a task');
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
