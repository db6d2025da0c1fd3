import type { ImportChoice } from '../../contract/import-choice.ts';
import { eventNames } from './event-names.ts';
import { samplePersons } from './sample-persons.ts';
import type { Filter } from './step.ts';
import { timeRange } from './time-range.ts';

/** Links that a reader adds stay with their events, unless somebody refuses them by name. */
export function linkFilterOf({ events }: ImportChoice): Filter {
  return events?.except === undefined ? () => undefined : eventNames({ except: events.except });
}

/** The filters of a choice; what the first leaves out the others do not see. None where nothing was chosen. */
export function filtersOf({ time, events, sample }: ImportChoice): readonly Filter[] {
  return [
    time && timeRange(time),
    events && eventNames(events),
    sample === undefined || sample === 1 ? undefined : samplePersons(sample),
  ].filter((filter) => filter !== undefined);
}
