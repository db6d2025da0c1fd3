import { importStages } from '../../wire/contract/import-run-states.ts';
import type { Run, Stage, StageProgress } from './run.ts';

/** After this long without progress, the last rate is no basis for an estimate. */
const staleMs = 60_000;

/**
 * Estimates the remaining time of a stage in ms, 0 when it is done. Uses the present rate if the total is known, and the elapsed time
 * per completed share otherwise.
 * @param now ms since the epoch
 * @returns `undefined` if the total is unknown, if nothing is done yet, if the stage stalls, or if all is counted but not finished
 */
export function stageEtaMs(progress: StageProgress, now: number): number | undefined {
  if (progress.finishedAt !== undefined) return 0;
  if (progress.startedAt === undefined) return undefined;
  if (now - (progress.lastProgressAt ?? progress.startedAt) > staleMs) return undefined;
  if (progress.total !== undefined && progress.rate > 0) {
    const left = progress.total - progress.done;
    // The stage still works on what it has counted; the rate does not predict how long.
    return left <= 0 ? undefined : Math.round((left / progress.rate) * 1000);
  }
  const share = shareDone(progress);
  if (share === undefined || share <= 0) return undefined;
  return Math.round(((now - progress.startedAt) * (1 - share)) / share);
}

/** Returns the completed share of a stage, 0 to 1; `undefined` if it cannot be known yet. */
export function shareDone(progress: StageProgress): number | undefined {
  if (progress.finishedAt !== undefined) return 1;
  const { done, total, bytes, bytesTotal, partsDone, partsTotal } = progress;
  if (total !== undefined && total > 0) return clamp(done / total);
  if (bytesTotal !== undefined && bytesTotal > 0) return clamp(bytes / bytesTotal);
  if (partsTotal !== undefined && partsTotal > 0) return clamp(partsDone / partsTotal);
  return undefined;
}

/** Estimates the remaining time of the run's present stage in ms; `undefined` also while it waits or no worker holds it. */
export function runEtaMs(run: Run, now: number): number | undefined {
  if (run.state === 'completed' || run.state === 'undone') return 0;
  if (run.state !== 'running' || run.waiting !== null) return undefined;
  const progress = run.progress[run.stage];
  return progress === undefined ? undefined : stageEtaMs(progress, now);
}

/** Returns the stages of this run, in order. */
export function stagesOf(run: Run): readonly Stage[] {
  if (run.stage === 'undo') return ['undo'];
  const requested = importStages.slice(0, importStages.indexOf(run.options.last) + 1);
  return run.options.replace === undefined ? requested.filter((stage) => stage !== 'replace') : requested;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
