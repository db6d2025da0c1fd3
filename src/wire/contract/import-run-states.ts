/** States and stages of import runs, free of schemas for the console. `src/imports/run/run.ts` has the transitions. */
export const importRunStates = ['queued', 'running', 'paused', 'failed', 'cancelled', 'completed', 'undone'] as const;
export type ImportRunState = (typeof importRunStates)[number];

/** Stages in order. `replace` only exists in runs that replace others. The stage `undo` is separate: it reverts the others. */
export const importStages = ['export', 'check', 'replace', 'load', 'verify', 'report'] as const;
export type ImportStage = (typeof importStages)[number] | 'undo';
