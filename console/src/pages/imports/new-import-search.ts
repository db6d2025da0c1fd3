import { integer, oneOf, searchOf, text } from '../../search.ts';

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
