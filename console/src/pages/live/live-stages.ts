import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';

/** The stages in pipeline order. */
export const liveStages = [
  'received',
  'transformed',
  'stored',
  'dropped',
  'dead_letter',
] as const satisfies readonly LiveStage[];
