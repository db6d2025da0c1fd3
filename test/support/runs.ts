import type { Metadata } from '../../src/stores/metadata/database.ts';
import type { NewRun } from '../../src/imports/run/run-store.ts';
import type { RunOptions } from '../../src/imports/run/run.ts';

export interface RunsStore extends AsyncDisposable {
  /** Migrated; without runs. */
  readonly db: Metadata;
  /** Another handle on the same store, as another process has one. May be the same where there can be only one. */
  readonly other: Metadata;
}
export type OpenRunsStore = () => Promise<RunsStore>;

export const start = Date.parse('2026-11-20T10:00:00.000Z');

export const runOptions: RunOptions = {
  range: {},
  format: 'captured',
  formatOptions: {},
  last: 'report',
  rejectedMax: 0,
  eventsPerSecond: 0,
  target: { kind: 'project' },
};

export function newRun(more: Partial<NewRun> = {}): NewRun {
  return { projectId: 1, configId: 2, source: 'files', options: runOptions, now: start, ...more };
}
