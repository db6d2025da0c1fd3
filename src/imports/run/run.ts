import type { JsonObject } from '../../base/json.ts';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { CheckProblemCode } from '../../wire/contract/import-runs.ts';
import { importRunStates, type ImportRunState, type ImportStage } from '../../wire/contract/import-run-states.ts';
import type { TimeRange } from '../source.ts';

/**
 * An import run: one source, one range, five stages.
 *
 * | from                     | by       | to        | when                                                                  |
 * | ------------------------ | -------- | --------- | --------------------------------------------------------------------- |
 * | –                        | create   | queued    | on request                                                            |
 * | queued                   | claim    | running   | a worker takes it, under a lease                                      |
 * | running                  | claim    | running   | the lease ran out: the worker that held it died                         |
 * | running                  | release  | queued    | the worker stops; another continues where it was                      |
 * | running                  | complete | completed | the last requested stage is done                                      |
 * | running                  | fail     | failed    | waiting would not help: `reason` has the next step                    |
 * | queued, running          | pause    | paused    | on request; the worker notices at its next step, in < 1 s             |
 * | paused, failed           | resume   | queued    | on request; continues in the stage where it was                       |
 * | completed (last = check) | resume   | queued    | on request for the following stages                                   |
 * | completed                | retry    | queued    | rejected records are tried again, from the stage `check`              |
 * | completed                | verify   | queued    | stored and staged are compared once more, from the stage `verify`     |
 * | all but completed        | cancel   | cancelled | on request; what was loaded stays                                     |
 * | completed, failed, cancelled | undo | queued    | on request; what it loaded is deleted in the stage `undo`             |
 * | running (stage `undo`)   | completeUndo | undone | nothing of it is stored any more                                      |
 *
 * In the stage `undo` a run can be paused and resumed, but not cancelled: half of it would stay.
 *
 * A rate limit, a server that is away, a full disk budget leave the run `running` with `waiting` set: it continues without a resume.
 * A worker writes only under its lease and while the run is `running`: a write after a pause changes nothing.
 */
export type RunState = ImportRunState;

/** Actions that users may request. */
export type RunAction = 'pause' | 'resume' | 'cancel' | 'retry' | 'verify' | 'undo';
/** What a worker does with a run that it holds. */
export type WorkerAction = 'release' | 'complete' | 'fail' | 'completeUndo';

/** The table, of runs that exist; what is not in it does not happen. */
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

/** In which an action is possible at all; for some runs in these it may not be (`allowedActions`). */
export function statesWith(action: RunAction): readonly RunState[] {
  return importRunStates.filter((state) => transitions[state][action] !== undefined);
}

/** What may be asked of a run now. */
export function allowedActions({ state, stage, stagingRemovedAt, options }: Run): readonly RunAction[] {
  const isMine = options.target.kind === 'project' && stage !== 'undo';
  const actions = runActions.filter(
    (action) => transitions[state][action] !== undefined && (action !== 'undo' || isMine),
  );
  if (stage === 'undo') return actions.filter((action) => action !== 'cancel');
  // Its records are where its command is.
  if (options.command !== undefined) return actions.filter((action) => ofReported.has(action));
  if (state !== 'completed') return actions;
  if (stagingRemovedAt !== null) return actions.filter((action) => action === 'undo');
  return actions.filter((action) => action !== (options.last === 'check' ? 'verify' : 'resume'));
}

/** What a service can do with a run whose command reports it. */
const ofReported: ReadonlySet<RunAction> = new Set(['pause', 'cancel', 'undo']);

/** In the order in which they are offered. */
const runActions: readonly RunAction[] = ['pause', 'resume', 'retry', 'verify', 'cancel', 'undo'];

export type Stage = ImportStage;

/** Where the events go: this service's own project, or any service that speaks `/batch/`. */
export type RunTarget =
  | { readonly kind: 'project' }
  /** The keys are in the run's secrets, never in what is shown. */
  | { readonly kind: 'http'; readonly url: string };

/** Which code changes the events of a run. The code itself is not in the run: where it is not what it was, the run goes no further. */
export interface RunTransform {
  /** As people call it. */
  readonly name: string;
  /** Of code and settings; nothing of a secret can be told from it. */
  readonly hash: string;
  /** Id of the transformation config that has both; undefined: a file of the command line. */
  readonly config?: number;
}

/** What a run was asked for; fixed when it is created, but for `rejectedMax`, `last` and `eventsPerSecond` at a resume. */
export interface RunOptions {
  readonly range: TimeRange;
  /** Slug of src/imports/formats. */
  readonly format: string;
  readonly formatOptions: Readonly<Record<string, string>>;
  /** JSON as `parseNames` takes it; undefined: the format's own table. */
  readonly names?: JsonObject;
  /** What of the source is imported, and as what; undefined: all of it, as the format makes it. */
  readonly choice?: ImportChoice;
  /** Code that changes the events before they are checked; undefined: none. */
  readonly transform?: RunTransform;
  /** The last stage to do: `check` sends nothing. */
  readonly last: 'check' | 'report';
  /** Records of which an earlier run made other events are loaded all the same. */
  readonly again?: boolean;
  /** Runs whose events are taken back before these are loaded; true: the one that made other events of the same records. */
  readonly replace?: true | readonly string[];
  /** A trial: only so many records of the source, from its first parts. */
  readonly limit?: number;
  /** Share of the records that may be rejected (0 to 1) before load refuses to start. */
  readonly rejectedMax: number;
  /** 0: as fast as the target takes them. */
  readonly eventsPerSecond: number;
  readonly target: RunTarget;
  /** False: nothing is looked at before the export. */
  readonly preflight?: false;
  /** A schedule has started it: there may be nothing new, which is no fault. */
  readonly scheduled?: true;
  /** A run of the same source as it was before: the target may have any of the events already, and is asked first. */
  readonly previousRun?: string;
  /** Of a run of the command line, in the service that it loads into: the command that resumes it. It works on the run, and no worker does. */
  readonly command?: string;
}

/** How far one stage has come. Parts are the source's parts in `export` and `check`, days in `load` and `verify`. */
export interface StageProgress {
  readonly stage: Stage;
  readonly partsDone: number;
  /** Undefined: not known yet. */
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
  /** Of `load`: slices of facts that were delivered; a day may need many of them. */
  readonly slices?: number;
  /** Of `check`, once it is done: why its events must not be loaded as the run's options are. */
  readonly problems?: readonly CheckProblemCode[];
}

export interface Waiting {
  /** One sentence for a person: `the source answers 429; trying again at 12:03:10`. */
  readonly reason: string;
  /** ms since the epoch; undefined: until something changes. */
  readonly until?: number;
}

export interface Run {
  readonly id: string;
  readonly projectId: number;
  /** 0: a run of the command line, which has no config. */
  readonly configId: number;
  /** Slug of the import app. */
  readonly source: string;
  readonly state: RunState;
  readonly stage: Stage;
  /** Why it failed or is paused, one sentence; else empty. */
  readonly reason: string;
  readonly waiting: Waiting | null;
  readonly options: RunOptions;
  readonly progress: Readonly<Partial<Record<Stage, StageProgress>>>;
  readonly totals: RunTotals;
  /** Run whose trial this run is the full form of. */
  readonly promotedFrom: string | null;
  /** How often rejected records were tried again: from the first on the target may have any of the events already. */
  readonly retries: number;
  /** ms since the epoch when its staged records and days were removed, by the policy; null: they are there. */
  readonly stagingRemovedAt: number | null;
  /** ms since the epoch. */
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

/** Every record and every event is in exactly one of these; what does not add up is a defect. */
export interface RunTotals {
  /** Records of the source: staged + those that could not be staged as records. */
  readonly records: number;
  /** Records skipped on purpose, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Records or events that did not get in: unreadable, refused by the check, refused by the target. */
  readonly rejected: number;
  /** Records that became events, all or some of them; so records = converted + skipped + (rejected - rejected_events). */
  readonly converted?: number;
  /** Of `rejected`: events of readable records, refused by the check or the target; so events = loaded + duplicates + rejected_events. */
  readonly rejected_events?: number;
  /** Events that the records became, those that were refused included. */
  readonly events: number;
  /** With a choice: the events before it, and those that it left out by reason; so events_read = events + left_out. */
  readonly events_read?: number;
  readonly left_out?: Readonly<Record<string, number>>;
  /** Events that were there already in the same run (same day, event, distinct_id, uuid). */
  readonly duplicates: number;
  /** Events that the target acknowledged. */
  readonly loaded: number;
  /** Events taken back of the runs that it replaces, by their ids; 0: not yet. Undefined: nothing was begun to be taken back. */
  readonly replaced?: Readonly<Record<string, number>>;
  /** Events found in the target's store; undefined: it was not or cannot be looked at. */
  readonly verified?: number;
  /** Of `verified`: stored by somebody else before. */
  readonly stored_before?: number;
}

export const noTotals: RunTotals = { records: 0, skipped: {}, rejected: 0, events: 0, duplicates: 0, loaded: 0 };
