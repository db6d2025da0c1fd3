import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ImportRunRecord, ImportRunResume } from '../../wire/contract/import-runs.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import type { Run, RunState, Stage } from '../../imports/run/run.ts';
import type { CheckResult, VerifyResult } from '../../imports/run/results.ts';

/** A run as commands show it, local or on a server; `--json` prints it for each step. */
export interface RunView {
  readonly id: string;
  readonly source: string;
  readonly state: RunState;
  readonly stage: Stage;
  /** Starts at 1. */
  readonly stage_number: number;
  readonly stages: number;
  readonly reason: string;
  readonly waiting: { readonly reason: string; readonly until: string | null } | null;
  readonly parts_done: number;
  readonly parts_total: number | null;
  readonly done: number;
  readonly total: number | null;
  readonly unit: 'records' | 'events';
  readonly share: number | null;
  /** `unit` per second. */
  readonly rate: number;
  readonly eta_seconds: number | null;
  /** Completed stages with their counts. */
  readonly behind: readonly StageEnd[];
  readonly totals: ImportRunRecord['totals'];
  readonly created_at: string;
}

interface StageEnd {
  readonly stage: Stage;
  readonly done: number;
  readonly unit: 'records' | 'events';
}

/** @param now ms since the epoch */
export function viewOfRun(run: Run, now: number): RunView {
  return viewOfRecord(toRunRecord(run, now));
}

export function viewOfRecord(record: ImportRunRecord): RunView {
  const names = record.stages.map(({ stage }) => stage);
  const present = record.stages.find(({ stage }) => stage === record.stage);
  return {
    id: record.id,
    source: record.source,
    state: record.state,
    ...place(record.stage, names),
    reason: record.reason,
    waiting: record.waiting,
    parts_done: present?.parts_done ?? 0,
    parts_total: present?.parts_total ?? null,
    done: present?.done ?? 0,
    total: present?.total ?? null,
    unit: present?.unit ?? 'records',
    share: present?.share ?? null,
    rate: Math.round(present?.rate ?? 0),
    eta_seconds: record.eta_seconds,
    behind: record.stages
      .filter(({ state }) => state === 'done')
      .map(({ stage, done, unit }) => ({ stage, done, unit })),
    totals: record.totals,
    created_at: record.created_at,
  };
}

function place(stage: Stage, all: readonly Stage[]): Pick<RunView, 'stage' | 'stage_number' | 'stages'> {
  return { stage, stage_number: all.indexOf(stage) + 1, stages: all.length };
}

/** Tells whether the run has paused or ended. */
export function isFinal({ state }: RunView): boolean {
  return state !== 'queued' && state !== 'running';
}

/** Yields the view whenever it changes, until the run is final. Polls more often at the start of a stage. Errors: the signal's reason. */
export async function* viewSteps(
  read: () => Promise<RunView>,
  signal: AbortSignal,
  { leastMs, mostMs }: { readonly leastMs: number; readonly mostMs: number },
): AsyncIterable<RunView> {
  let last: RunView | undefined;
  let pollMs = leastMs;
  while (last === undefined || !isFinal(last)) {
    signal.throwIfAborted();
    const view = await read();
    if (!isDeepStrictEqual(view, last)) yield view;
    pollMs = view.stage === last?.stage ? Math.min(pollMs * 2, mostMs) : leastMs;
    last = view;
    if (!isFinal(view)) await sleep(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** Existing runs: of an import app config on a server (server-runs.ts), or of a state directory (local-runs.ts). */
export interface ImportRuns {
  /** Lists runs, newest first. */
  list(): Promise<readonly RunView[]>;
  /** Finds a run, by default the newest. Errors: notFound. */
  find(run: string | undefined): Promise<RunView>;
  act(run: string, action: RunAction, changes?: ImportRunResume): Promise<RunView>;
  /** Errors: notFound before the end of the stage. */
  check(run: string): Promise<CheckResult>;
  verify(run: string): Promise<VerifyResult>;
  report(run: string, form: 'json' | 'html', signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Yields NDJSON of RejectedRecord. */
  rejected(run: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Verifies the stored events again; a local run does so when its command is repeated. */
  verifyAgain(run: string): Promise<RunView>;
  /** Yields every change until the run pauses or ends. */
  steps(run: string, signal: AbortSignal): AsyncIterable<RunView>;
}

export type RunAction = 'pause' | 'resume' | 'cancel' | 'retry_rejected' | 'promote';
