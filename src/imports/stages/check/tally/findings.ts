import type { ErrorGroup } from '../../../../wire/contract/import-results.ts';
import type { SamplePair } from '../../../run/results.ts';
import { createPlanTally, type PlanCount, type PlanTally } from '../plan/plan-tally.ts';
import { createErrorGroups, type ErrorGroups } from './error-groups.ts';
import { createIdSample, type IdSample, type SavedIds } from './id-sample.ts';
import { addNoteCounts, createNoteSum, type NoteSum } from './note-tally.ts';
import type { NoteCounts } from '../../../formats/record-notes.ts';
import { addUnusual, createUnusualSum, type UnusualCounts, type UnusualSum } from './unusual-tally.ts';

/** Findings of one segment, stored as JSON. Those of all segments add up to those of the run. */
export interface Findings {
  /** Includes blank lines. */
  readonly records: number;
  readonly skipped: Readonly<Record<string, number>>;
  /** Events before the choice of the run, and those that it excluded by reason. */
  readonly choice?: { readonly read: number; readonly leftOut: Readonly<Record<string, number>> };
  readonly converted: number;
  /** Records that could not be read. */
  readonly unreadable: number;
  /** Events that ingest would reject. */
  readonly refused: number;
  /** Events without rejected ones. */
  readonly events: number;
  readonly byName: readonly NameFinding[];
  readonly errors: readonly ErrorGroup[];
  readonly samples: readonly SamplePair[];
  readonly unmappedEvents: Readonly<Record<string, number>>;
  readonly unmappedProperties: Readonly<Record<string, number>>;
  readonly identifies: number;
  readonly groupIdentifies: number;
  readonly ids: SavedIds;
  /** Most frequent first. */
  readonly busiest: readonly (readonly [id: string, events: number])[];
  readonly inFuture: number;
  /** Unusual values, if any. */
  readonly unusual?: UnusualCounts;
  /** Notes of readers, if any. */
  readonly notes?: NoteCounts;
  /** Violations of the tracking plan, if any. */
  readonly plan?: readonly PlanCount[];
}

/** µs since the epoch. */
interface NameFinding {
  readonly name: string;
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/** Reason for skipping a record that contains nothing to import. */
export const emptyResult = 'nothing to import in the record';
export const samplesMax = 20;
const unmappedMax = 200;
const reasonsMax = 200;
const otherReasons = 'other reasons';
/** Maximum number of ids while segments are summed up. */
const busiestMax = 20_000;

/** The findings of the run while they are summed up. */
export interface Sum {
  readonly counts: Record<CountKey, number>;
  readonly skipped: Map<string, number>;
  readonly choice: { read: number; readonly leftOut: Map<string, number> };
  readonly byName: Map<string, { count: number; first: number; last: number }>;
  readonly errors: ErrorGroups;
  readonly samples: SamplePair[];
  readonly sampled: Set<string>;
  readonly unmappedEvents: Map<string, number>;
  readonly unmappedProperties: Map<string, number>;
  readonly ids: IdSample;
  busiest: Map<string, number>;
  readonly unusual: UnusualSum;
  readonly notes: NoteSum;
  readonly plan: PlanTally;
}

const countKeys = [
  'records',
  'converted',
  'unreadable',
  'refused',
  'events',
  'identifies',
  'groupIdentifies',
  'inFuture',
] as const satisfies readonly (keyof Findings)[];
type CountKey = (typeof countKeys)[number];

export function createSum(): Sum {
  return {
    counts: {
      records: 0,
      converted: 0,
      unreadable: 0,
      refused: 0,
      events: 0,
      identifies: 0,
      groupIdentifies: 0,
      inFuture: 0,
    },
    skipped: new Map(),
    choice: { read: 0, leftOut: new Map() },
    byName: new Map(),
    errors: createErrorGroups(),
    samples: [],
    sampled: new Set(),
    unmappedEvents: new Map(),
    unmappedProperties: new Map(),
    ids: createIdSample(),
    busiest: new Map(),
    unusual: createUnusualSum(),
    notes: createNoteSum(),
    plan: createPlanTally(),
  };
}

export function addFindings(sum: Sum, findings: Findings): void {
  for (const key of countKeys) sum.counts[key] += findings[key];
  for (const [reason, count] of Object.entries(findings.skipped)) countReason(sum.skipped, reason, count);
  sum.choice.read += findings.choice?.read ?? 0;
  for (const [reason, count] of Object.entries(findings.choice?.leftOut ?? {}))
    countReason(sum.choice.leftOut, reason, count);
  for (const each of findings.byName) addName(sum, each);
  for (const group of findings.errors) sum.errors.addGroup(group);
  for (const sample of findings.samples) addSample(sum, sample);
  for (const [name, count] of Object.entries(findings.unmappedEvents)) countName(sum.unmappedEvents, name, count);
  for (const [name, count] of Object.entries(findings.unmappedProperties)) {
    countName(sum.unmappedProperties, name, count);
  }
  sum.ids.merge(findings.ids);
  if (findings.unusual !== undefined) addUnusual(sum.unusual, findings.unusual);
  if (findings.notes !== undefined) addNoteCounts(sum.notes, findings.notes);
  if (findings.plan !== undefined) sum.plan.addCounts(findings.plan);
  for (const [id, events] of findings.busiest) sum.busiest.set(id, (sum.busiest.get(id) ?? 0) + events);
  if (sum.busiest.size > busiestMax * 2) sum.busiest = new Map(mostOf(sum.busiest, busiestMax));
}

function addName(sum: Sum, { name, count, first, last }: NameFinding): void {
  const known = sum.byName.get(name);
  if (known === undefined) sum.byName.set(name, { count, first, last });
  else {
    known.count += count;
    known.first = Math.min(known.first, first);
    known.last = Math.max(known.last, last);
  }
}

/** Keeps one sample per combination of names; the first ones of the source are the most useful. */
function addSample(sum: Sum, sample: SamplePair): void {
  const key = sampleKey(sample.events);
  if (sum.samples.length >= samplesMax || sum.sampled.has(key)) return;
  sum.sampled.add(key);
  sum.samples.push(sample);
}

export function sampleKey(events: readonly unknown[]): string {
  return JSON.stringify(events.map((event) => (event as { readonly event?: unknown }).event));
}

export function countReason(skipped: Map<string, number>, reason: string, count: number): void {
  const key = skipped.has(reason) || skipped.size < reasonsMax ? reason : otherReasons;
  skipped.set(key, (skipped.get(key) ?? 0) + count);
}

export function countName(names: Map<string, number>, name: string, count: number): void {
  if (names.has(name) || names.size < unmappedMax) names.set(name, (names.get(name) ?? 0) + count);
}

/** Returns the entries with the highest counts, in order. */
export function mostOf(counts: Iterable<readonly [string, number]>, max: number): (readonly [string, number])[] {
  const all = [...counts];
  const least = leastOfMost(
    Float64Array.from(all, ([, count]) => count),
    max,
  );
  const most = all.filter(([, count]) => count >= least);
  return most.toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, max);
}

/** Returns the least of the highest `max` counts; for many counts sorting numbers alone is fast. Changes their order. */
export function leastOfMost(counts: Float64Array, max: number): number {
  return counts.length > max ? (counts.sort()[counts.length - max] as number) : -Infinity;
}
