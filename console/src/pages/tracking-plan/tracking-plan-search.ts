import { oneOf, searchOf, text } from '../../search.ts';

export const planTabs = ['events', 'violations', 'versions'] as const;

/** Search parameters of the page. */
export const trackingPlanSearch = searchOf({
  tab: oneOf(...planTabs),
  /** Filter of events and rules by name. */
  q: text,
  /** The open event. */
  event: text,
  /** The open rule: event, property and keyword as JSON. */
  rule: text,
});
