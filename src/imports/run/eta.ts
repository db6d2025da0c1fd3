import { importStages } from '../../wire/contract/import-run-states.ts';
import type { Run, Stage, StageProgress } from './run.ts';

/** Without growth for so long, the last rate says nothing about what is left. */
const staleMs = 60_000;

/**
 * Time until this stage is done, in ms; 0 when it is. Undefined: not known (no total yet, nothing done, standing still, or all counted and not finished).
 * The present rate where the total is known; else how long the share that is done has taken.
 * @param now ms since the epoch
 */
export function stageEtaMs(progress: StageProgress, now: number): number | undefined {
  if (progress.finishedAt !== undefined) return 0;
  if (progress.startedAt === undefined) return undefined;
  if (now - (progress.lastProgressAt ?? progress.startedAt) > staleMs) return undefined;
  if (progress.total !== undefined && progress.rate > 0) {
    const left = progress.total - progress.done;
    // The stage still works on what it has counted: the rate says nothing about that.
    return left <= 0 ? undefined : Math.round((left / progress.rate) * 1000);
  }
  const share = shareDone(progress);
  if (share === undefined || share <= 0) return undefined;
  return Math.round(((now - progress.startedAt) * (1 - share)) / share);
}

/** How much of a stage is done, 0 to 1; undefined: nobody can tell yet. */
export function shareDone(progress: StageProgress): number | undefined {
  if (progress.finishedAt !== undefined) return 1;
  const { done, total, bytes, bytesTotal, partsDone, partsTotal } = progress;
  if (total !== undefined && total > 0) return clamp(done / total);
  if (bytesTotal !== undefined && bytesTotal > 0) return clamp(bytes / bytesTotal);
  if (partsTotal !== undefined && partsTotal > 0) return clamp(partsDone / partsTotal);
  return undefined;
}

/** Of the stage that the run is in, in ms; undefined also while it waits for something or nobody works on it. */
export function runEtaMs(run: Run, now: number): number | undefined {
  if (run.state === 'completed' || run.state === 'undone') return 0;
  if (run.state !== 'running' || run.waiting !== null) return undefined;
  const progress = run.progress[run.stage];
  return progress === undefined ? undefined : stageEtaMs(progress, now);
}

/** The stages that this run does, in order. */
export function stagesOf(run: Run): readonly Stage[] {
  if (run.stage === 'undo') return ['undo'];
  const asked = importStages.slice(0, importStages.indexOf(run.options.last) + 1);
  return run.options.replace === undefined ? asked.filter((stage) => stage !== 'replace') : asked;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
