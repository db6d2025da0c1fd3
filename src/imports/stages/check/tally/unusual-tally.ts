import { hash } from 'node:crypto';
import { nameCharsMax } from '../../../../wire/batch/limits.ts';
import { storedId } from '../../../../wire/batch/stored-id.ts';
import type { UnusualValue } from '../../../../wire/contract/unusual-values.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { findLongName, isLongName, findCutId, findPaddedId } from '../../../choosing/ids-and-names.ts';
import type { FoundValues } from '../../../formats/format.ts';

/** Unusual values of a segment, by kind. */
export interface UnusualCounts {
  readonly counts: Readonly<Partial<Record<UnusualValue, UnusualCount>>>;
  /** For truncated ids, a hash of the rest and one of the whole, in hexadecimal digits. */
  readonly cutIds: readonly string[];
}

interface UnusualCount {
  readonly count: number;
  readonly samples: readonly string[];
}

export interface UnusualTally {
  /** Counts values to which a rule of the choice was applied. */
  readonly ruled: (found: FoundValues) => void;
  readonly event: (event: WireEvent) => void;
  readonly property: (name: string) => void;
  readonly time: (value: string) => void;
  /** Returns an empty object without unusual values. */
  readonly found: () => { readonly unusual?: UnusualCounts };
}

const samplesMax = 3;
const sampleCharsMax = 60;
const cutIdsMax = 10_000;

export function createUnusualTally(): UnusualTally {
  const counts = new Map<UnusualValue, { count: number; readonly samples: string[] }>();
  const cutIds = new Set<string>();
  const add = (of: UnusualValue, value: string): void => {
    const known = counts.get(of) ?? { count: 0, samples: [] };
    known.count += 1;
    const sample = value.slice(0, sampleCharsMax);
    if (known.samples.length < samplesMax && !known.samples.includes(sample)) known.samples.push(sample);
    counts.set(of, known);
  };
  const property = (name: string): void => {
    if (name.length > nameCharsMax && isLongName(name)) add('long_properties', name);
  };
  return {
    ruled: (found) => {
      for (const { of, value } of found) add(of, value);
    },
    event: (event) => {
      const padded = findPaddedId(event);
      if (padded !== undefined) add('padded_ids', padded);
      const name = findLongName(event);
      if (name !== undefined) add('long_names', name);
      const id = findCutId(event);
      if (id === undefined) return;
      add('long_ids', id);
      if (cutIds.size < cutIdsMax) cutIds.add(hashOf(storedId(id)) + hashOf(id));
    },
    property,
    time: (value) => add('odd_times', value),
    found: () => (counts.size === 0 ? {} : { unusual: { counts: Object.fromEntries(counts), cutIds: [...cutIds] } }),
  };
}

const hashChars = 12;

function hashOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, hashChars);
}

/** Unusual values of a run while segments are summed up. */
export interface UnusualSum {
  readonly counts: Map<UnusualValue, { count: number; readonly samples: Set<string> }>;
  readonly cutIds: Set<string>;
}

export function createUnusualSum(): UnusualSum {
  return { counts: new Map(), cutIds: new Set() };
}

const sumCutIdsMax = 200_000;

export function addUnusual(sum: UnusualSum, { counts, cutIds }: UnusualCounts): void {
  for (const [of, { count, samples }] of Object.entries(counts) as [UnusualValue, UnusualCount][]) {
    const known = sum.counts.get(of) ?? { count: 0, samples: new Set() };
    known.count += count;
    for (const sample of samples) if (known.samples.size < samplesMax) known.samples.add(sample);
    sum.counts.set(of, known);
  }
  for (const pair of cutIds) if (sum.cutIds.size < sumCutIdsMax) sum.cutIds.add(pair);
}

/** Counts different ids that become equal to another one when they are truncated. */
export function cutTogether({ cutIds }: UnusualSum): number {
  const perCut = new Map<string, number>();
  for (const pair of cutIds) {
    const cut = pair.slice(0, hashChars);
    perCut.set(cut, (perCut.get(cut) ?? 0) + 1);
  }
  return [...perCut.values()].reduce((sum, ids) => sum + (ids > 1 ? ids : 0), 0);
}
