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
 * Returns the filters of a choice. These are all steps between the format and ingest, in order; steps that were not chosen are
 * absent.
 *
 * | step              | of the choice       | does                                            |
 * | ----------------- | ------------------- | ----------------------------------------------- |
 * | time-range        | `time`              | excludes events outside the range               |
 * | event-names       | `events`            | excludes events by their names                  |
 * | sample-persons    | `sample`            | excludes persons                                |
 * | identity-policy   | `identity`          | marks or excludes links, or assigns the device  |
 * | join-table        | `join`              | adds columns of a table as properties           |
 * | rename-properties | `properties.rename` | renames properties                              |
 * | translate-values  | `properties.values` | replaces values                                 |
 * | read-user-agent   | `user_agent`        | derives browser, system and device              |
 * | list-properties   | `properties`        | excludes properties by their names              |
 */
export function filtersOf({ time, events, sample }: ImportChoice): readonly Filter[] {
  return [
    time && timeRange(time),
    events && eventNames(events),
    sample === undefined || sample === 1 ? undefined : samplePersons(sample),
  ].filter((filter) => filter !== undefined);
}

/** Returns the filter for links that a reader adds: they stay with their events unless a list excludes them by name. */
export function linkFilterOf({ events }: ImportChoice): Filter {
  return events?.except === undefined ? () => undefined : eventNames({ except: events.except });
}

/** Returns the changes to events that pass the filters. `device_only` needs the whole record: see chosen-reader. */
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

/** Works like the transformation `user-agent`: browser and system that the source itself reports stay. */
function readUserAgent(): Change {
  const populate = createBrowserProperties({});
  return (event) => {
    // Properties from readers are always JSON.
    const properties = { ...event.properties } as JsonObject;
    populate(properties);
    return { ...event, properties };
  };
}

const knownMax = 100_000;

/** Keeps all events of a distinct id or none, with the same selection as the transformation `downsampling`. */
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

/** Keeps the old name where the new one is taken, so that no value is lost. */
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

/**
 * Excludes events outside a half-open range, by their own time. Events whose time cannot be read stay: the check reports them.
 */
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

/** Converts a time that `parseChoice` has validated. */
function microsOf(time: string): number {
  const micros = parseTimestamp(time);
  if (micros === undefined) throw new RangeError(`expected a time in ISO 8601, got: ${time}`);
  return micros;
}

type ValueTables = NonNullable<NonNullable<ImportChoice['properties']>['values']>;

/**
 * Replaces values by the property's table. Values without an entry and values that are not scalars stay. Null removes the
 * property.
 */
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

/** Structural properties, which a list of properties to keep need not name. */
const structure: ReadonlySet<string> = new Set(
  `$set $set_once $unset $group_set $group_type $group_key $groups $anon_distinct_id alias $process_person_profile $import_identity
  $session_id`.split(/\s+/),
);
const bags: ReadonlySet<string> = new Set(['$set', '$set_once', '$group_set']);

function listProperties(lists: NameLists): Change {
  const excludedBy = createNameList(lists);
  const isKept = (name: string): boolean => {
    const by = excludedBy(name);
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

/** Removes a `$set` that became empty. */
function withoutEmpty(event: WireEvent, before: Bag): WireEvent {
  if (event.properties === before) return event;
  const entries = Object.entries(event.properties).filter(
    ([name, value]) => !(bags.has(name) && isObject(value) && Object.keys(value).length === 0),
  );
  return { ...event, properties: Object.fromEntries(entries) };
}
