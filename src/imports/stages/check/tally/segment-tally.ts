import { parseExactValues } from '../../../../base/exact-json.ts';
import { eventDepthMax } from '../../../../wire/batch/limits.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import type { RejectedRecord } from '../../../staging.ts';
import type { ReadyEvent } from '../segment/convert-event.ts';
import { createUnusualTally, type UnusualTally } from './unusual-tally.ts';
import { createErrorGroups } from './error-groups.ts';
import type { Words } from '../rows/event-keys.ts';
import { createEventTally, type EventTally, type NameEntry } from './event-tally.ts';
import { countName, countReason, sampleKey, samplesMax, type Findings } from './findings.ts';
import type { FoundNote } from '../../../formats/record-notes.ts';
import { addNotes, createNoteSum, noteCountsOf } from './note-tally.ts';
import { createPlanTally } from '../plan/plan-tally.ts';
import type { Violation } from '../../../../wire/tracking-plan/compile-plan.ts';
import type { UnmappedNames } from '../segment/find-unmapped.ts';
import type { Chosen } from '../../../formats/format.ts';

/** Counts the outcomes of the records of one segment. */
export interface SegmentTally {
  record(): void;
  skip(reason: string): void;
  reject(rejected: RejectedRecord, kind: 'unreadable' | 'refused'): void;
  readonly choose: ChoiceTally['choose'];
  readonly forget: ChoiceTally['forget'];
  readonly unusual: UnusualTally;
  note(notes: readonly FoundNote[]): void;
  /** Counts violations of the tracking plan by an event. `place` is where its record is. */
  violate(violations: readonly Violation[], place: string): void;
  /** Counts a record that became events, or would have: `events` is empty if all of them are rejected. `text` is its JSON. */
  convert(part: string, line: number, text: string, events: readonly WireEvent[]): void;
  property(name: string): void;
  /** Counts an event and returns the entry of its name, whose index represents it in rows. `id` is the hash of its distinct_id. */
  event(event: ReadyEvent, id: Words): NameEntry;
  /** Does the same for a link that other segments may have created too: only links that stay are counted (repeated-links.ts). */
  link(event: Pick<ReadyEvent, 'event'>, id: Words): NameEntry;
  /** Parts of `event`, for known names and ids. */
  readonly events: EventTally;
  /** Counts a record whose events are counted and that needs no sample. */
  convertPlain(): void;
  /** Returns whether a record with events of these names would be kept as a sample. */
  wantsSample(names: readonly string[]): boolean;
  readonly names: readonly string[];
  /** Returns the counts up to now; `events` includes links. */
  counts(): Record<'records' | 'skipped' | 'converted' | 'unreadable' | 'events', number>;
  findings(): Findings;
}

const sampleCharsMax = 16_384;

/** `sampled` holds combinations of names of which the run has samples. */
export function createSegmentTally(unmapped: UnmappedNames, sampled: Set<string>, now: () => number): SegmentTally {
  const counts = { records: 0, converted: 0, unreadable: 0, refused: 0 };
  const unusual = createUnusualTally();
  const notes = createNoteSum();
  const plan = createPlanTally();
  const events = createEventTally(unusual, now);
  const skipped = new Map<string, number>();
  const { found: foundChoice, ...choice } = createChoiceTally();
  const errors = createErrorGroups();
  const samples: Findings['samples'][number][] = [];
  const unmappedProperties = new Map<string, number>();
  let skips = 0;
  let links = 0;
  const isFull = (): boolean => samples.length >= samplesMax || sampled.size >= samplesMax;
  return {
    record: () => void (counts.records += 1),
    skip: (reason) => {
      skips += 1;
      countReason(skipped, reason, 1);
    },
    ...choice,
    unusual,
    note: (found) => addNotes(notes, found),
    violate: plan.add,
    reject: ({ code, reason, part, line, original }, kind) => {
      counts[kind] += 1;
      errors.add(code, reason, { part, line, original });
    },
    convert: (part, line, text, converted) => {
      counts.converted += 1;
      if (converted.length === 0) return;
      if (isFull() || text.length > sampleCharsMax) return;
      const key = sampleKey(converted);
      if (sampled.has(key) || isDeep(text)) return;
      sampled.add(key);
      samples.push({ part, line, source: parseExactValues(text), events: converted });
    },
    property: (name) => {
      if (unmapped.isProperty(name)) countName(unmappedProperties, name, 1);
      unusual.property(name);
    },
    event: ({ event, distinctId, micros }, id) => {
      const entry = events.entryOf(event);
      events.count(entry, id, events.idCountOf(distinctId), micros);
      return entry;
    },
    link: ({ event }, id) => {
      links += 1;
      return events.link(event, id);
    },
    events,
    convertPlain: () => void (counts.converted += 1),
    wantsSample: (of) => !isFull() && !sampled.has(sampleKey(of.map((event) => ({ event })))),
    names: events.names,
    counts: () => ({ ...counts, skipped: skips, events: events.total() + links }),
    findings: () => ({
      ...counts,
      skipped: Object.fromEntries(skipped),
      ...foundChoice(),
      ...events.found(unmapped),
      errors: errors.list(),
      samples,
      unmappedProperties: Object.fromEntries(unmappedProperties),
      ...unusual.found(),
      ...noteCountsOf(notes),
      ...(plan.list().length > 0 && { plan: plan.list() }),
    }),
  };
}

/** Returns whether the JSON may nest deeper than allowed; brackets within texts count too. */
function isDeep(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    if (depth > eventDepthMax) return true;
  }
  return false;
}

/** Counts the effects of the run's choice on the events of a segment. */
interface ChoiceTally {
  choose(chosen: Chosen): void;
  /** Stops counting events that a choice kept, because they count neither as converted nor as refused. */
  forget(events: number): void;
  /** Returns an empty object without a choice. */
  found(): Pick<Findings, 'choice'>;
}

function createChoiceTally(): ChoiceTally {
  const leftOut = new Map<string, number>();
  let events = 0;
  let hasChoice = false;
  return {
    choose: ({ read, leftOut: reasons }) => {
      hasChoice = true;
      events += read;
      for (const reason of reasons) countReason(leftOut, reason, 1);
    },
    forget: (count) => {
      if (hasChoice) events -= count;
    },
    found: () => (events === 0 ? {} : { choice: { read: events, leftOut: Object.fromEntries(leftOut) } }),
  };
}
