import { isoOfMicros } from '../../../../base/clock.ts';
import type { Words } from '../rows/event-keys.ts';
import type { UnmappedNames } from '../segment/find-unmapped.ts';
import { leastOfMost, mostOf, type Findings } from './findings.ts';
import { createIdSample } from './id-sample.ts';
import type { UnusualTally } from './unusual-tally.ts';

/** Counts the events of one segment. */
export interface EventTally {
  entryOf(name: string): NameEntry;
  idCountOf(distinctId: string): IdCount;
  /** Counts an event. `id` is the hash of the distinct_id that `of` counts; `micros` in µs since the epoch. */
  count(entry: NameEntry, id: Words, of: IdCount, micros: number): void;
  /** Returns the entry of a link that is counted elsewhere. */
  link(name: string, id: Words): NameEntry;
  readonly names: readonly string[];
  /** Returns the number of counted events. */
  total(): number;
  found(unmapped: UnmappedNames): EventFindings;
}

export interface NameEntry {
  readonly name: string;
  /** Represents the name in the segment. */
  readonly index: number;
  count: number;
  first: number;
  last: number;
}

export interface IdCount {
  /** Represents the id in the segment. */
  readonly index: number;
  events: number;
}

type EventFindings = Pick<
  Findings,
  'events' | 'identifies' | 'groupIdentifies' | 'inFuture' | 'byName' | 'unmappedEvents' | 'ids' | 'busiest'
>;

/** Ids of a segment that are kept with their counts; an id that stands out in a run does so in its segments. */
const busiestMax = 500;
const year2000 = Date.UTC(2000, 0, 1) * 1000;

/** `now` returns ms since the epoch. */
export function createEventTally(unusual: UnusualTally, now: () => number): EventTally {
  const counts = { events: 0, identifies: 0, groupIdentifies: 0, inFuture: 0 };
  const names: string[] = [];
  const byName = new Map<string, NameEntry>();
  const ids = createIdSample();
  const perId = new Map<string, IdCount>();
  const entryOf = (name: string): NameEntry => byName.get(name) ?? addName(names, byName, name);
  return {
    entryOf,
    link: (name, id) => {
      ids.add(id);
      return entryOf(name);
    },
    idCountOf: (distinctId) => {
      const known = perId.get(distinctId);
      if (known !== undefined) return known;
      const count = { index: perId.size, events: 0 };
      perId.set(distinctId, count);
      return count;
    },
    count: (entry, id, of, micros) => {
      counts.events += 1;
      countEntry(entry, micros);
      if (entry.name === '$identify') counts.identifies += 1;
      else if (entry.name === '$groupidentify') counts.groupIdentifies += 1;
      if (micros < year2000) unusual.time(isoOfMicros(micros));
      else if (micros > now() * 1000) counts.inFuture += 1;
      // The sample has every id that was counted before.
      if (of.events === 0) ids.add(id);
      of.events += 1;
    },
    names,
    total: () => counts.events,
    found: (unmapped) => ({
      ...counts,
      byName: counted(byName),
      unmappedEvents: unmappedIn(byName, unmapped),
      ids: ids.save(),
      busiest: busiestOf(perId),
    }),
  };
}

function busiestOf(perId: ReadonlyMap<string, IdCount>): Findings['busiest'] {
  const counts = new Float64Array(perId.size);
  let size = 0;
  for (const { events } of perId.values()) counts[size++] = events;
  const least = leastOfMost(counts, busiestMax);
  const most: [string, number][] = [];
  for (const [id, { events }] of perId) if (events >= least) most.push([id, events]);
  return mostOf(most, busiestMax);
}

/** Returns names with events other than links. */
function counted(byName: ReadonlyMap<string, NameEntry>): Findings['byName'] {
  return [...byName]
    .filter(([, { count }]) => count > 0)
    .map(([name, { count, first, last }]) => ({ name, count, first, last }));
}

function countEntry(entry: NameEntry, micros: number): void {
  entry.count += 1;
  if (micros < entry.first) entry.first = micros;
  if (micros > entry.last) entry.last = micros;
}

function unmappedIn(byName: ReadonlyMap<string, NameEntry>, unmapped: UnmappedNames): Record<string, number> {
  const found = [...byName].filter(([name]) => unmapped.isEvent(name));
  return Object.fromEntries(found.map(([name, { count }]) => [name, count]));
}

function addName(names: string[], byName: Map<string, NameEntry>, name: string): NameEntry {
  const entry = { name, index: names.length, count: 0, first: Infinity, last: -Infinity };
  names.push(name);
  byName.set(name, entry);
  return entry;
}
