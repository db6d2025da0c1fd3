import { importRunStates } from '../../../../src/wire/contract/import-run-states.ts';
import { integer, oneOf, searchOf, text } from '../../search.ts';

/** Search parameters of the imports page. */
export const importsSearch = searchOf({
  tab: oneOf('runs', 'imports', 'schedules'),
  state: oneOf(...importRunStates),
  /** Filter by slug of the import app. */
  source: text,
  /** Filter by id of the import. */
  config: text,
  /** The open schedule form: `new`, or the id of the import. */
  set: text,
});

const runTabs = ['progress', 'check', 'rejected', 'reconciliation', 'preflight'] as const;
export type RunTab = (typeof runTabs)[number];

/** Search parameters of the run page. */
export const importRunSearch = searchOf({ tab: oneOf(...runTabs) });

export const wizardSteps = ['connect', 'map', 'review'] as const;
export type WizardStep = (typeof wizardSteps)[number];

/** State of the wizard, complete enough to continue after a reload. */
export const newImportSearch = searchOf({
  step: oneOf(...wizardSteps),
  /** Slug of the selected source. */
  source: text,
  /** Id of the import, once saved. */
  config: integer,
  /** Id of the check run. */
  run: text,
});
