import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';

/** In the order in which an event gets there. */
export const liveStages = [
  'received',
  'transformed',
  'stored',
  'dropped',
  'dead_letter',
] as const satisfies readonly LiveStage[];
