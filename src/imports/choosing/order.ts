import type { ImportChoice, NameLists } from '../../wire/contract/import-choice.ts';
import { eventNames, createNameList } from './name-list.ts';
import { mergeAll, neverMerge } from './identity-policy.ts';
import { joinTable, type JoinTable } from './join-table.ts';
import { importMarks, type Change, type Filter, mapBags, type Bag } from './step.ts';
import { isObject, type JsonObject } from '../../base/json.ts';
import { createBrowserProperties } from '../../plugins/transformations/user-agent.ts';
import { shareOfText } from '../../base/share-of-text.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { parseTimestamp } from '../../wire/batch/timestamps.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';

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

/** As the transformation `user-agent` does it: what the source says itself of browser and system stays. */
function readUserAgent(): Change {
  const populate = createBrowserProperties({});
  return (event) => {
    // Readers make properties of JSON.
    const properties = { ...event.properties } as JsonObject;
    populate(properties);
    return { ...event, properties };
  };
}

const knownMax = 100_000;

/** Of one distinct id all events or none; the same ids as the transformation `downsampling` keeps. */
function samplePersons(share: number): Filter {
  const known = new Map<string, boolean>();
  return ({ distinct_id: id }) => {
    let isIn = known.get(id);
    if (isIn === undefined) {
      if (known.size >= knownMax) known.clear();
      isIn = shareOfText(id) <= share;
      known.set(id, isIn);
    }
    return isIn ? undefined : 'not in the sample';
  };
}

/** Where the new name is taken already, the old one stays: no value is lost. */
function renameProperties(table: Readonly<Record<string, string>>): Change {
  const names = new Map(Object.entries(table));
  const rename = (bag: Bag): Bag => {
    const renamed: Properties = {};
    let count = 0;
    for (const [name, value] of Object.entries(bag)) {
      const to = names.get(name);
      const isFree = to !== undefined && !Object.hasOwn(bag, to) && !Object.hasOwn(renamed, to);
      if (isFree) count += 1;
      setMember(renamed, isFree ? to : name, value);
    }
    return count === 0 ? bag : renamed;
  };
  return (event) => mapBags(event, rename);
}

/** Half open, by the event's own time. An event whose time cannot be read stays: the check says what is wrong with it. */
function timeRange({ from, to }: NonNullable<ImportChoice['time']>): Filter {
  const first = from === undefined ? -Infinity : microsOf(from);
  const end = to === undefined ? Infinity : microsOf(to);
  return ({ timestamp }) => {
    const micros = parseTimestamp(timestamp);
    if (micros === undefined) return undefined;
    if (micros < first) return 'before the time range';
    return micros < end ? undefined : 'after the time range';
  };
}

/** Of a time that `parseChoice` has read. */
function microsOf(time: string): number {
  const micros = parseTimestamp(time);
  if (micros === undefined) throw new RangeError(`expected a time in ISO 8601, got: ${time}`);
  return micros;
}

type ValueTables = NonNullable<NonNullable<ImportChoice['properties']>['values']>;

/** Values by a table of the property; a value that is in no table, and one that is no scalar, stays. Null leaves the property out. */
function translateValues(tables: ValueTables): Change {
  const byName = new Map(Object.entries(tables).map(([name, table]) => [name, new Map(Object.entries(table))]));
  const translate = (bag: Bag): Bag => {
    let changed: Properties | undefined;
    for (const [name, table] of byName) {
      const value = Object.hasOwn(bag, name) ? bag[name] : undefined;
      if (value === undefined || typeof value === 'object') continue;
      const other = table.get(String(value));
      if (other === undefined) continue;
      changed ??= { ...bag };
      if (other === null) delete changed[name];
      else setMember(changed, name, other);
    }
    return changed ?? bag;
  };
  return (event) => mapBags(event, translate);
}

/** What an event is made of rather than what it tells: a list of what to take need not name it. */
const structure: ReadonlySet<string> = new Set(
  `$set $set_once $unset $group_set $group_type $group_key $groups $anon_distinct_id alias $process_person_profile $import_identity
  $session_id`.split(/\s+/),
);
const bags: ReadonlySet<string> = new Set(['$set', '$set_once', '$group_set']);

function listProperties(lists: NameLists): Change {
  const judge = createNameList(lists);
  const isKept = (name: string): boolean => {
    const by = judge(name);
    return by === undefined || importMarks.has(name) || (by === 'only' && structure.has(name));
  };
  const list = (bag: Bag): Bag => {
    const names = Object.keys(bag);
    const kept = names.filter(isKept);
    if (kept.length === names.length) return bag;
    const listed: Properties = {};
    for (const name of kept) setMember(listed, name, bag[name]);
    return listed;
  };
  return (event) => withoutEmpty(mapBags(event, list), event.properties);
}

/** A `$set` of which nothing is left is none. */
function withoutEmpty(event: WireEvent, before: Bag): WireEvent {
  if (event.properties === before) return event;
  const entries = Object.entries(event.properties).filter(
    ([name, value]) => !(bags.has(name) && isObject(value) && Object.keys(value).length === 0),
  );
  return { ...event, properties: Object.fromEntries(entries) };
}
