import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import { eventNames } from './event-names.ts';
import { mergeAll, neverMerge } from './identity-policy.ts';
import { joinTable, type JoinTable } from './join-table.ts';
import { listProperties } from './list-properties.ts';
import { readUserAgent } from './read-user-agent.ts';
import { renameProperties } from './rename-properties.ts';
import { samplePersons } from './sample-persons.ts';
import type { Change, Filter } from './step.ts';
import { timeRange } from './time-range.ts';
import { translateValues } from './translate-values.ts';

/**
 * What happens to an event between its format and the door, in this order; a step that was not chosen is not there.
 *
 * | step              | of the choice       | does                                            |
 * | ----------------- | ------------------- | ----------------------------------------------- |
 * | time-range        | `time`              | leaves out what lies outside                    |
 * | event-names       | `events`            | leaves out what the lists do not take           |
 * | sample-persons    | `sample`            | leaves out persons                              |
 * | identity-policy   | `identity`          | marks or leaves out links, or names the device  |
 * | join-table        | `join`              | columns of a table as properties                |
 * | rename-properties | `properties.rename` | new names                                       |
 * | translate-values  | `properties.values` | new values                                      |
 * | read-user-agent   | `user_agent`        | browser, system and device of a header          |
 * | list-properties   | `properties`        | leaves out properties that the lists do not take |
 */
export function filtersOf({ time, events, sample }: ImportChoice): readonly Filter[] {
  return [
    time && timeRange(time),
    events && eventNames(events),
    sample === undefined || sample === 1 ? undefined : samplePersons(sample),
  ].filter((filter) => filter !== undefined);
}

/** Links that a reader adds stay with their events, unless somebody refuses them by name. */
export function linkFilterOf({ events }: ImportChoice): Filter {
  return events?.except === undefined ? () => undefined : eventNames({ except: events.except });
}

/** Of what the filters leave. `device_only` looks at the record, too: see chosen-reader. */
export function changesOf(
  { identity, join = [], properties = {}, user_agent: userAgent }: ImportChoice,
  tables: readonly JoinTable[],
): readonly Change[] {
  const { rename, values, only, except } = properties;
  return [
    identity === 'merge' ? mergeAll() : identity === 'never_merge' ? neverMerge() : undefined,
    ...join.map((each, index) => tables[index] && joinTable(each, tables[index])),
    rename && renameProperties(rename),
    values && translateValues(values),
    userAgent === true ? readUserAgent() : undefined,
    (only ?? except) === undefined ? undefined : listProperties(properties),
  ].filter((change) => change !== undefined);
}
