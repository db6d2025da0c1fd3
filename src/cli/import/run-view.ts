import type { ImportRunRecord } from '../../contract/import-runs.ts';
import { runEtaMs, shareDone, stagesOf } from '../../imports/run/eta.ts';
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
  const progress = run.progress[run.stage];
  const etaMs = runEtaMs(run, now);
  const { totals } = run;
  return {
    id: run.id,
    source: run.source,
    state: run.state,
    ...place(run.stage, stagesOf(run)),
    reason: run.reason,
    waiting: run.waiting && {
      reason: run.waiting.reason,
      until: run.waiting.until === undefined ? null : new Date(run.waiting.until).toISOString(),
    },
    parts_done: progress?.partsDone ?? 0,
    parts_total: progress?.partsTotal ?? null,
    done: progress?.done ?? 0,
    total: progress?.total ?? null,
    unit: unitOf(run.stage),
    share: progress === undefined ? null : (shareDone(progress) ?? null),
    rate: Math.round(progress?.rate ?? 0),
    eta_seconds: etaMs === undefined ? null : Math.ceil(etaMs / 1000),
    behind: endsOf(run),
    totals: { ...totals, verified: totals.verified ?? null },
    created_at: new Date(run.createdAt).toISOString(),
  };
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

function unitOf(stage: Stage): 'records' | 'events' {
  return stage === 'export' || stage === 'check' ? 'records' : 'events';
}

function endsOf(run: Run): StageEnd[] {
  const all = stagesOf(run);
  const behind = run.state === 'completed' ? all : all.slice(0, Math.max(0, all.indexOf(run.stage)));
  return behind.map((stage) => ({ stage, done: run.progress[stage]?.done ?? 0, unit: unitOf(stage) }));
}

function place(stage: Stage, all: readonly Stage[]): Pick<RunView, 'stage' | 'stage_number' | 'stages'> {
  return { stage, stage_number: all.indexOf(stage) + 1, stages: all.length };
}

/** Nothing happens any more unless somebody asks for it. */
export function isFinal({ state }: RunView): boolean {
  return state !== 'queued' && state !== 'running';
}
