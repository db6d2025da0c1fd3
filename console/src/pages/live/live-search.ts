import type { LiveStage } from '../../../../src/wire/contract/live-events.ts';
import { liveStages } from './live-stages.ts';
import { searchOf, text, texts } from '../../search.ts';

/** Search parameters of the page. */
export const liveSearch = searchOf({
  /** Defaults to all. */
  stages: (raw): readonly LiveStage[] | undefined => {
    const chosen = liveStages.filter((stage) => texts(raw)?.includes(stage));
    return chosen.length === 0 || chosen.length === liveStages.length ? undefined : chosen;
  },
  event: text,
  distinct_id: text,
});

export type LiveFilter = ReturnType<typeof liveSearch>;
