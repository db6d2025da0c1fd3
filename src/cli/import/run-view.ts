import type { ImportRunRecord } from '../../wire/contract/import-runs.ts';
import { toRunRecord } from '../../imports/run/run-record.ts';
import type { Run, RunState, Stage } from '../../imports/run/run.ts';

/** A run as the commands show it, whether it is done here or by a server. Also what `--json` prints of a step. */
export interface RunView {
  readonly id: string;
  readonly source: string;
  readonly state: RunState;
  readonly stage: Stage;
  /** From 1. */
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
  /** Stages that are behind it, and what they came to. */
  readonly behind: readonly StageEnd[];
  readonly totals: ImportRunRecord['totals'];
  readonly created_at: string;
}

export interface StageEnd {
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

/** Nothing happens any more unless somebody asks for it. */
export function isFinal({ state }: RunView): boolean {
  return state !== 'queued' && state !== 'running';
}
