import { parseExactValues } from '../../../base/exact-json.ts';
import type { WireEvent } from '../../../contract/wire-event.ts';
import type { RejectedRecord } from '../../staging.ts';
import { createChoiceTally, type ChoiceTally } from './choice-tally.ts';
import type { ReadyEvent } from './convert-event.ts';
import { isoOfMicros } from '../../../base/clock.ts';
import { createOddTally, type OddTally } from './odd-tally.ts';
import { createErrorGroups } from './error-groups.ts';
import { hashText, type Words } from './event-keys.ts';
import { countName, countReason, mostOf, sampleKey, samplesMax, type Findings } from './findings.ts';
import { createIdSample } from './id-sample.ts';
import type { UnmappedNames } from './find-unmapped.ts';

/** Counts what becomes of the records of one segment. */
export interface SegmentTally {
  record(): void;
  skip(reason: string): void;
  reject(rejected: RejectedRecord, kind: 'unreadable' | 'refused'): void;
  readonly choose: ChoiceTally['choose'];
  readonly odd: OddTally;
  /** A record became events, or would have: none are left where all of them are refused. `text` is its JSON. */
  convert(part: string, line: number, text: string, events: readonly WireEvent[]): void;
  property(name: string): void;
  /** The entry of its name, with the index that stands for it in the spill. `id` is the hash of its distinct_id. */
  event(event: ReadyEvent, id: Words): NameEntry;
  /** The same of a link that other segments may have made, too: counted is what stays of them (repeated-links.ts). */
  link(event: ReadyEvent, id: Words): NameEntry;
  readonly names: readonly string[];
  findings(): Findings;
}

export interface NameEntry {
  readonly index: number;
  readonly hash: Words;
  count: number;
  first: number;
  last: number;
}

/** Ids of a segment that are remembered with their counts; an id that stands out in a run does in its segments. */
const busiestMax = 500;
const sampleCharsMax = 16_384;
const year2000 = Date.UTC(2000, 0, 1) * 1000;

/** `sampled`: combinations of names that the run has samples of. */
export function createSegmentTally(unmapped: UnmappedNames, sampled: Set<string>, now: () => number): SegmentTally {
  const counts = { records: 0, converted: 0, unreadable: 0, refused: 0, events: 0 };
  const odd = createOddTally();
  const skipped = new Map<string, number>();
  const choice = createChoiceTally();
  const errors = createErrorGroups();
  const samples: Findings['samples'][number][] = [];
  const names: string[] = [];
  const byName = new Map<string, NameEntry>();
  const unmappedProperties = new Map<string, number>();
  const ids = createIdSample();
  const perId = new Map<string, number>();
  const { marks, mark } = createMarks(odd, now);
  return {
    record: () => {
      counts.records += 1;
    },
    skip: (reason) => countReason(skipped, reason, 1),
    choose: choice.choose,
    odd,
    reject: ({ code, reason, part, line, original }, kind) => {
      counts[kind] += 1;
      errors.add(code, reason, { part, line, original });
    },
    convert: (part, line, text, events) => {
      counts.converted += 1;
      if (events.length === 0) return;
      if (samples.length >= samplesMax || sampled.size >= samplesMax || text.length > sampleCharsMax) return;
      const key = sampleKey(events);
      if (sampled.has(key)) return;
      sampled.add(key);
      samples.push({ part, line, source: parseExactValues(text), events });
    },
    property: (name) => {
      if (unmapped.isProperty(name)) countName(unmappedProperties, name, 1);
      odd.property(name);
    },
    event: (event, id) => {
      const entry = byName.get(event.event) ?? addName(names, byName, event.event);
      countEntry(entry, event.micros);
      counts.events += 1;
      mark(event);
      ids.add(id);
      perId.set(event.distinctId, (perId.get(event.distinctId) ?? 0) + 1);
      return entry;
    },
    link: ({ event }, id) => {
      ids.add(id);
      return byName.get(event) ?? addName(names, byName, event);
    },
    names,
    findings: () => ({
      ...counts,
      ...marks,
      skipped: Object.fromEntries(skipped),
      ...choice.found(),
      byName: counted(byName),
      errors: errors.list(),
      samples,
      unmappedEvents: unmappedIn(byName, unmapped),
      unmappedProperties: Object.fromEntries(unmappedProperties),
      ids: ids.save(),
      busiest: mostOf(perId, busiestMax),
      ...odd.found(),
    }),
  };
}

function createMarks(odd: OddTally, now: () => number) {
  const marks = { identifies: 0, groupIdentifies: 0, inFuture: 0 };
  const mark = ({ event, micros }: ReadyEvent): void => {
    if (event === '$identify') marks.identifies += 1;
    else if (event === '$groupidentify') marks.groupIdentifies += 1;
    if (micros < year2000) odd.time(isoOfMicros(micros));
    else if (micros > now() * 1000) marks.inFuture += 1;
  };
  return { marks, mark };
}

/** Names of more than links. */
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
  const entry = { index: names.length, hash: { low: 0, high: 0 }, count: 0, first: Infinity, last: -Infinity };
  hashText(name, entry.hash);
  names.push(name);
  byName.set(name, entry);
  return entry;
}
