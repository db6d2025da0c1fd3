import { integer, oneOf, searchOf, text } from '../../search.ts';

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

const runTabs = ['progress', 'check', 'rejected', 'reconciliation', 'preflight'] as const;
export type RunTab = (typeof runTabs)[number];

/** What the address of the page holds beside its path. */
export const importRunSearch = searchOf({ tab: oneOf(...runTabs) });

export const wizardSteps = ['source', 'connection', 'preview', 'check', 'agreement', 'start'] as const;
export type WizardStep = (typeof wizardSteps)[number];

/** Where the wizard stands: the address is enough to go on after a reload. */
export const newImportSearch = searchOf({
  step: oneOf(...wizardSteps),
  /** Slug of the chosen source. */
  source: text,
  /** The import, as soon as it is stored. */
  config: integer,
  /** Run that checks it. */
  run: text,
});
