import type { Queries } from '../../stores/metadata/queries.ts';
import type { TaskState } from '../../stores/metadata/tables/tasks.ts';

/**
 * Background work on a project's data: erasures, exports, replays of stored events.
 *
 * | from            | to        | by                                                                   |
 * | --------------- | --------- | -------------------------------------------------------------------- |
 * | –               | queued    | a user, or the service                                               |
 * | queued          | running   | a worker claims it; after a crash another worker does                |
 * | running         | done      | the worker, with the result                                          |
 * | running         | failed    | the worker: a TaskFailedError, or too many attempts without progress |
 * | queued, running | cancelled | a user; the worker's next write fails and its signal is aborted      |
 *
 * A kind resumes from the last saved progress, so each of its steps must be repeatable.
 */
export interface Task {
  readonly id: string;
  readonly projectId: number;
  readonly kind: string;
  readonly state: TaskState;
  /** As requested, in the kind's form; likewise `progress` and `result`. */
  readonly spec: unknown;
  readonly progress: unknown;
  readonly result: unknown;
  /** Why it failed or is being retried. Empty otherwise. */
  readonly error: string;
  readonly createdBy: number | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

/** A task that this process works on. */
export interface HeldTask<Spec, Progress> {
  readonly id: string;
  readonly projectId: number;
  readonly spec: Spec;
  /** Such as keys of a bucket. */
  readonly secrets: Readonly<Record<string, string>>;
  /** As last saved, by this worker or an earlier one. */
  readonly progress: Progress | undefined;
  /** Aborted when the service stops, the lease is lost or a user cancels. */
  readonly signal: AbortSignal;
  /** Persists the point to resume from. @throws TaskLostError if another worker has the task or it was cancelled */
  save(progress: Progress): Promise<void>;
  /** Like `save`, in one transaction with the writes of `work`, which returns the progress. Nothing is written if the task is lost. */
  commit(work: (tx: Queries) => Promise<Progress>): Promise<Progress>;
  /** Shows why the task does not advance; empty: it does. @throws TaskLostError */
  waiting(reason: string): Promise<void>;
}

/** How tasks of one kind are executed. */
export interface TaskKind<Spec = unknown, Progress = unknown, Result = unknown> {
  readonly name: string;
  /** How long ended tasks are kept, ms. Default: until their project is deleted. */
  readonly keptMs?: number;
  /**
   * Works on the task and returns its result. Errors other than TaskFailedError and TaskLostError are retried, from the last saved
   * progress.
   */
  // A method, so that kinds of any spec fit into one list.
  run(task: HeldTask<Spec, Progress>): Promise<Result>;
  /** Called after a task of the kind was cancelled or failed while a worker had it, possibly twice: removes what it left behind. */
  cleanUp?(task: Pick<HeldTask<Spec, Progress>, 'id' | 'projectId' | 'spec' | 'secrets' | 'progress'>): Promise<void>;
}

/** The task cannot succeed. The message is shown to users: what was expected, what came, and what to do next. */
export class TaskFailedError extends Error {
  override name = 'TaskFailedError';
}

/** The task was cancelled, or another worker has it. */
export class TaskLostError extends Error {
  override name = 'TaskLostError';

  constructor() {
    super('the task was cancelled or is held by another worker');
  }
}
