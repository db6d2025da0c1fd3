import type { ImportRunRecord, ImportStageRecord } from '../../../src/wire/contract/import-runs.ts';

type StageName = ImportStageRecord['stage'];

/** Names of stages for users. */
export const stageNames: Readonly<Record<StageName, string>> = {
  export: 'Read',
  check: 'Check',
  replace: 'Undo earlier runs',
  load: 'Load',
  verify: 'Verify',
  report: 'Report',
  undo: 'Undo',
};

/** Usual shares of a run's duration, until its own stages show better ones. */
const weights: Readonly<Record<StageName, number>> = {
  export: 1,
  check: 5,
  replace: 3,
  load: 6,
  verify: 1.5,
  report: 0.2,
  undo: 1,
};

interface RunProgress {
  /** The active stage. */
  readonly name: string;
  /** Number of the active stage, from 1. */
  readonly step: number;
  readonly steps: number;
  /** Completed share of the whole run, 0 to 1. */
  readonly share: number;
  /** Time until the whole run is complete; `undefined` while it cannot be estimated. */
  readonly leftMs: number | undefined;
  readonly rate: number;
}

/** Returns the progress of all stages of a run as one; `undefined` if none is active. */
export function runProgress({
  stages,
  stage: name,
  state,
}: Pick<ImportRunRecord, 'stages' | 'stage' | 'state'>): RunProgress | undefined {
  const index = stages.findIndex(({ stage }) => stage === name);
  const active = stages[index];
  if (active === undefined) return undefined;
  const all = stages.reduce((sum, { stage }) => sum + weights[stage], 0);
  const done = stages.reduce((sum, each) => sum + weights[each.stage] * shareOf(each), 0);
  return {
    name: stageNames[name],
    step: index + 1,
    steps: stages.length,
    share: done / all,
    leftMs: state === 'running' ? leftMs(stages, active) : undefined,
    rate: active.rate,
  };
}

function shareOf({ state, share }: ImportStageRecord): number {
  return state === 'done' ? 1 : state === 'active' ? (share ?? 0) : 0;
}

/** The time left of the active stage, and for pending ones the usual share of what the others take. */
function leftMs(stages: readonly ImportStageRecord[], active: ImportStageRecord): number | undefined {
  if (active.eta_seconds === null) return undefined;
  const activeMs = active.eta_seconds * 1000;
  let knownMs = activeMs / Math.max(0.01, 1 - shareOf(active));
  let knownWeight = weights[active.stage];
  let pendingWeight = 0;
  for (const { stage, state, started_at: start, finished_at: end } of stages) {
    if (state === 'pending') pendingWeight += weights[stage];
    if (state !== 'done' || start === null || end === null) continue;
    knownMs += Date.parse(end) - Date.parse(start);
    knownWeight += weights[stage];
  }
  return activeMs + (knownMs / knownWeight) * pendingWeight;
}

/** Returns the time from start to end of a run, or of its undo; `undefined` before its end. */
export function durationMs(run: Pick<ImportRunRecord, 'started_at' | 'finished_at' | 'stages'>): number | undefined {
  const { started_at: start, finished_at: end } = run.stages.find(({ stage }) => stage === 'undo') ?? run;
  return start === null || end === null ? undefined : Date.parse(end) - Date.parse(start);
}
