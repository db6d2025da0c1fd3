import type { ImportRunRecord } from '../../../src/wire/contract/import-runs.ts';

/** It is queued, at work or paused: its record may still change. */
export function isUnfinished(state: ImportRunRecord['state']): boolean {
  return state === 'queued' || state === 'running' || state === 'paused';
}

type Held = Pick<ImportRunRecord, 'state' | 'stage' | 'options' | 'check_problems'>;

/** It stands still because of what the check found, or because the target has rejected too many. */
export function isHeldByCheck({ state, stage, options, check_problems: problems }: Held): boolean {
  if ((problems ?? []).length === 0) return false;
  return (state === 'completed' && options.last === 'check') || (state === 'failed' && stage !== 'undo');
}
