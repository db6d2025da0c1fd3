/** States and stages of import runs, free of schemas for the console. `src/imports/run/run.ts` has the transitions. */
export const importRunStates = ['queued', 'running', 'paused', 'failed', 'cancelled', 'completed', 'undone'] as const;
export type ImportRunState = (typeof importRunStates)[number];

/** Stages in order. `replace` only exists in runs that replace others. The stage `undo` is separate: it reverts the others. */
export const importStages = ['export', 'check', 'replace', 'load', 'verify', 'report'] as const;
export type ImportStage = (typeof importStages)[number] | 'undo';

/** Results of a report with their labels, from best to worst. */
export const importVerdicts = {
  exact: { label: 'Exact', tone: 'ok' },
  exact_by_id: { label: 'Exact by id', tone: 'ok' },
  unverified: { label: 'Store not compared', tone: 'neutral' },
  checked: { label: 'Only checked', tone: 'neutral' },
  unfinished: { label: 'Not finished', tone: 'neutral' },
  incomplete: { label: 'Source incomplete', tone: 'warn' },
  different: { label: 'Different', tone: 'danger' },
} as const;
export type ImportVerdict = keyof typeof importVerdicts;
