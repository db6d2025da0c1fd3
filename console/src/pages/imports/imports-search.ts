import { oneOf, searchOf, text } from '../../search.ts';

export const runStates = ['queued', 'running', 'paused', 'failed', 'cancelled', 'completed', 'undone'] as const;

/** What the address of the page holds beside its path. */
export const importsSearch = searchOf({
  tab: oneOf('runs', 'imports', 'schedules'),
  state: oneOf(...runStates),
  /** Slug of the import app whose runs are shown. */
  source: text,
  /** Id of the import whose runs are shown. */
  config: text,
  /** The schedule whose form is open: `new`, or the id of its import. */
  set: text,
});
