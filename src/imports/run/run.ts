import type { JsonObject } from '../../base/json.ts';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { CheckProblemCode } from '../../wire/contract/import-runs.ts';
import {
  importRunStates,
  type ImportRunState,
  type ImportStage,
  type ImportVerdict,
} from '../../wire/contract/import-run-states.ts';
import type { TimeRange } from '../source.ts';

/**
 * An import run: one source, one range, five stages.
 *
 * | from                     | by       | to        | when                                                                  |
 * | ------------------------ | -------- | --------- | --------------------------------------------------------------------- |
 * | –                        | create   | queued    | on request                                                            |
 * | queued                   | claim    | running   | a worker takes it, under a lease                                      |
 * | running                  | claim    | running   | the lease expired: the worker that held it died                         |
 * | running                  | release  | queued    | the worker stops; another continues where it was                      |
 * | running                  | complete | completed | the last requested stage is done                                      |
 * | running                  | fail     | failed    | waiting would not help: `reason` has the next step                    |
 * | queued, running          | pause    | paused    | on request; the worker stops at its next step, in < 1 s               |
 * | paused, failed           | resume   | queued    | on request; continues in the stage where it was                       |
 * | completed (last = check) | resume   | queued    | on request for the following stages                                   |
 * | completed                | retry    | queued    | rejected records are retried, from the stage `check`                  |
 * | completed                | verify   | queued    | stored and staged are compared again, from the stage `verify`         |
 * | all but completed        | cancel   | cancelled | on request; loaded events remain                                      |
 * | completed, failed, cancelled | undo | queued    | on request; what it loaded is deleted in the stage `undo`             |
 * | running (stage `undo`)   | completeUndo | undone | nothing of it is stored any more                                      |
 *
 * In the stage `undo` a run can be paused and resumed but not cancelled, which would leave half of it stored.
 *
 * A rate limit, an unreachable server or a full disk budget leave the run `running` with `waiting` set: it continues without a resume.
 * A worker writes only under its lease and while the run is `running`: a write after a pause changes nothing.
 */
export type RunState = ImportRunState;

/** Actions that users may request. */
export type RunAction = 'pause' | 'resume' | 'cancel' | 'retry' | 'verify' | 'undo';
/** What a worker can do with a run that it holds. */
type WorkerAction = 'release' | 'complete' | 'fail' | 'completeUndo';

/** Every possible transition of an existing run. */
const transitions: Readonly<Record<RunState, Partial<Record<RunAction | WorkerAction, RunState>>>> = {
  queued: { pause: 'paused', cancel: 'cancelled' },
  running: {
    pause: 'paused',
    cancel: 'cancelled',
    release: 'queued',
    complete: 'completed',
    fail: 'failed',
    completeUndo: 'undone',
  },
  paused: { resume: 'queued', cancel: 'cancelled' },
  failed: { resume: 'queued', cancel: 'cancelled', undo: 'queued' },
  completed: { resume: 'queued', retry: 'queued', verify: 'queued', undo: 'queued' },
  cancelled: { undo: 'queued' },
  undone: {},
};

/** Returns the next state. Throws for an action that the table does not have: such requests are refused earlier. */
export function stateAfter(action: RunAction | WorkerAction, state: RunState): RunState {
  const next = transitions[state][action];
  if (next === undefined) throw new Error(`expected an action that a run takes while it is ${state}, got: ${action}`);
  return next;
}

/** Returns the states in which an action is possible; `allowedActions` may still exclude it for some runs. */
export function statesWith(action: RunAction): readonly RunState[] {
  return importRunStates.filter((state) => transitions[state][action] !== undefined);
}

/** Returns the actions that are possible for the run now. */
export function allowedActions({ state, stage, stagingRemovedAt, options }: Run): readonly RunAction[] {
  const isMine = options.target.kind === 'project' && stage !== 'undo';
  const actions = runActions.filter(
    (action) => transitions[state][action] !== undefined && (action !== 'undo' || isMine),
  );
  if (stage === 'undo') return actions.filter((action) => action !== 'cancel');
  // The records of such a run are on the machine of its command.
  if (options.command !== undefined) return actions.filter((action) => ofReported.has(action));
  if (state !== 'completed') return actions;
  if (stagingRemovedAt !== null) return actions.filter((action) => action === 'undo');
  return actions.filter((action) => action !== (options.last === 'check' ? 'verify' : 'resume'));
}

/** What a service can do with a run of the command line. */
const ofReported: ReadonlySet<RunAction> = new Set(['pause', 'cancel', 'undo']);

/** In the order in which they are shown. */
const runActions: readonly RunAction[] = ['pause', 'resume', 'retry', 'verify', 'cancel', 'undo'];

export type Stage = ImportStage;

/** Where events go: this service's own project, or any service that speaks `/batch/`. */
export type RunTarget =
  | { readonly kind: 'project' }
  /** The keys are in the run's secrets and never shown. */
  | { readonly kind: 'http'; readonly url: string };

/** The code that changes the events of a run. The code itself is not in the run: if it changes, the run fails. */
export interface RunTransform {
  /** Name for users. */
  readonly name: string;
  /** Hash of code and settings; reveals nothing of a secret. */
  readonly hash: string;
  /** Id of the transformation config; `undefined` for a file of the command line. */
  readonly config?: number;
}

/** The request for a run; fixed when it is created, except for `ResumeChanges`. */
export interface RunOptions {
  readonly range: TimeRange;
  /** Slug of src/imports/formats. */
  readonly format: string;
  readonly formatOptions: Readonly<Record<string, string>>;
  /** JSON as `parseNames` takes it; the format's own table by default. */
  readonly names?: JsonObject;
  /** What of the source is imported, and as what; everything by default. */
  readonly choice?: ImportChoice;
  /** Code that changes the events before they are checked. */
  readonly transform?: RunTransform;
  /** The last stage to do; `check` sends nothing. */
  readonly last: 'check' | 'report';
  /** Loads records even if an earlier run made different events of them. */
  readonly again?: boolean;
  /** Runs to undo before this one loads; `true` means the run that made different events of the same records. */
  readonly replace?: true | readonly string[];
  /** A trial imports at most this many records, from the first parts of the source. */
  readonly limit?: number;
  /** Share of the records that may be rejected (0 to 1) before the load refuses to start. */
  readonly rejectedMax: number;
  /** 0 means as fast as the target accepts them. */
  readonly eventsPerSecond: number;
  readonly target: RunTarget;
  /** `false` skips the checks before the export. */
  readonly preflight?: false;
  /** A schedule started the run; finding nothing new is no fault. */
  readonly scheduled?: true;
  /** An earlier run of the same source: the target may have any of the events, so it is queried first. */
  readonly previousRun?: string;
  /** For a run of the command line, as the service stores it: the command that resumes it. The command works on it, not a worker. */
  readonly command?: string;
  /** For the same runs, their name in lists. */
  readonly name?: string;
}

/** Progress of one stage. Parts are the source's parts in `export` and `check`, days in `load` and `verify`. */
export interface StageProgress {
  readonly stage: Stage;
  readonly partsDone: number;
  /** `undefined` until it is known. */
  readonly partsTotal?: number;
  /** Records in `export`, `check`; events in `load`, `verify`. */
  readonly done: number;
  readonly total?: number;
  /** Bytes of the source in `export`, of JSON in the other stages; before compression. */
  readonly bytes: number;
  readonly bytesTotal?: number;
  /** ms since the epoch. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** `done` per second, over the last half minute or so. */
  readonly rate: number;
  /** ms since the epoch when `done` last grew. */
  readonly lastProgressAt?: number;
  /** For `load`: delivered slices of facts; a day may need many. */
  readonly slices?: number;
  /** For `check`, once it is done: why the run's events must not be loaded with its present options. */
  readonly problems?: readonly CheckProblemCode[];
}

export interface Waiting {
  /** One sentence for users: `the source answers 429; trying again at 12:03:10`. */
  readonly reason: string;
  /** ms since the epoch; `undefined` means until something changes. */
  readonly until?: number;
}

export interface Run {
  readonly id: string;
  readonly projectId: number;
  /** 0 for a run of the command line, which has no config. */
  readonly configId: number;
  /** Slug of the import app. */
  readonly source: string;
  readonly state: RunState;
  readonly stage: Stage;
  /** Why it failed or is paused, in one sentence; otherwise empty. */
  readonly reason: string;
  readonly waiting: Waiting | null;
  readonly options: RunOptions;
  readonly progress: Readonly<Partial<Record<Stage, StageProgress>>>;
  readonly totals: RunTotals;
  /** The trial that this run does in full. */
  readonly promotedFrom: string | null;
  /** How often rejected records were retried; after the first retry the target may have any of the events. */
  readonly retries: number;
  /** When the retention policy removed its staged records and days, ms since the epoch; `null` while they exist. */
  readonly stagingRemovedAt: number | null;
  /** ms since the epoch. */
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

/** Every record and every event counts in exactly one of these; totals that do not add up are a defect. */
export interface RunTotals {
  /** Records of the source: staged records and those that could not be staged. */
  readonly records: number;
  /** Records skipped on purpose, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Records or events that were not loaded: unreadable, rejected by the check, rejected by the target. */
  readonly rejected: number;
  /** Records of which at least one event was accepted; records = converted + skipped + (rejected - rejected_events). */
  readonly converted?: number;
  /** Of `rejected`: events of readable records, rejected by the check or the target; events = loaded + duplicates + rejected_events. */
  readonly rejected_events?: number;
  /** Events that the records became, including rejected ones. */
  readonly events: number;
  /** With a choice: events before it, and those that it skipped by reason; events_read = events + left_out. */
  readonly events_read?: number;
  readonly left_out?: Readonly<Record<string, number>>;
  /** Events that were already in the same run (same day, event, distinct_id, uuid). */
  readonly duplicates: number;
  /** Events that the target acknowledged. */
  readonly loaded: number;
  /** Deleted events of each run that it replaces, by run id; 0 until that run is undone. `undefined` until the first undo begins. */
  readonly replaced?: Readonly<Record<string, number>>;
  /** Events found in the target's store; `undefined` if it was not, or cannot be, read. */
  readonly verified?: number;
  /** Of `verified`: stored before by another run or by live capture. */
  readonly stored_before?: number;
  /** Result of the report; `undefined` until it is written, and after an undo. */
  readonly verdict?: ImportVerdict;
}

export const noTotals: RunTotals = { records: 0, skipped: {}, rejected: 0, events: 0, duplicates: 0, loaded: 0 };
