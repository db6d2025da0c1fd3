import type { RunRef, StoreReader } from '../../../stores/events/eventstore.ts';
import {
  comparedCounts,
  differingEvents,
  type ComparedCount,
  type ComparedDays,
  type DifferingEvent,
} from '../../../stores/events/run-comparison.ts';
import type { StoredDay } from '../../run/import-day.ts';
import { TargetWaitError, type StoredIdentity, type TargetReader } from '../../target.ts';
import { readStore } from '../../targets/read-store.ts';
import { compareContents } from './compare-contents.ts';
import type { FoundOnDay } from './compare-day.ts';
import type { CountsReader } from './counts-reader.ts';
import { changed, earlier, missing, unexpected, type Differences } from './differences.ts';
import { expectedContents, type ExpectedIdentity } from './expected.ts';

interface CompareWithTable {
  /** Has the run's table, and the events. */
  readonly store: StoreReader;
  readonly reader: TargetReader;
  readonly run: RunRef;
  readonly known: CountsReader['known'];
  /** Transformations may have changed properties; then different ones are counted and are no fault. */
  readonly mayBeTransformed: boolean;
  readonly signal: AbortSignal;
  /** Smaller in tests. */
  readonly identitiesMax?: number;
}

/** Compares a day as `compareDay` does, but within the store. */
export interface TableComparer {
  compare(day: StoredDay, names: ReadonlySet<string>, differences: Differences): Promise<FoundOnDay>;
}

/** Maximum number of identities of one query, each of them a result row if nothing is stored as expected. */
const identitiesMaxDefault = 100_000;
const readsMax = 3;

interface Compared {
  readonly counts: readonly ComparedCount[];
  /** Events that have to be listed or compared by their properties. */
  readonly differing: readonly DifferingEvent[];
}

/** Creates a comparer of `days`, which are in order. Days of a month are read together, a large one in several shares of its uuids. */
export function createTableComparer(options: CompareWithTable, days: readonly StoredDay[]): TableComparer {
  const { known, identitiesMax = identitiesMaxDefault } = options;
  /** Days that were read with an earlier one; each result is used once, because what is stored may change. */
  let ahead = new Map<string, Compared>();
  const sizeOf = (day: StoredDay): number => {
    const stored = [...(known(day)?.values() ?? [])].reduce((sum, { count }) => sum + count, 0);
    return Math.max(day.events, stored);
  };
  const readFrom = async (day: StoredDay): Promise<Compared> => {
    const group = groupFrom(days, day, identitiesMax, (each) => (known(each) === undefined ? Infinity : sizeOf(each)));
    const to = group.at(-1)?.day ?? day.day;
    const { counts, differing } = await readCompared(options, { from: day.day, to, contents: expectedContents(day) });
    const byDay = Map.groupBy(counts, (each) => each.day);
    const differingByDay = Map.groupBy(differing, (each) => each.day);
    ahead = new Map(
      group.map((each) => [
        each.day,
        { counts: byDay.get(each.day) ?? [], differing: differingByDay.get(each.day) ?? [] },
      ]),
    );
    return ahead.get(day.day) ?? { counts: [], differing: [] };
  };
  return {
    compare: async (day, names, differences) => {
      const counts = new Map([...names].map((event) => [event, 0]));
      const found: FoundOnDay = { counts, byOthers: new Map(), otherProperties: 0, transformed: 0 };
      const shares = Math.ceil(sizeOf(day) / identitiesMax);
      if (shares <= 1) {
        const compared = ahead.get(day.day) ?? (await readFrom(day));
        ahead.delete(day.day);
        await addCompared({ ...options, day: day.day, names, found, differences }, compared);
        return found;
      }
      const range = { from: day.day, to: day.day, contents: expectedContents(day) };
      for (let index = 0; index < shares; index += 1) {
        const compared = await readCompared(options, { ...range, share: { index, of: shares } });
        await addCompared({ ...options, day: day.day, names, found, differences }, compared);
      }
      return found;
    },
  };
}

/** Returns this day and the following ones of its month until `max` is exceeded. */
function groupFrom(
  days: readonly StoredDay[],
  first: StoredDay,
  max: number,
  sizeOf: (day: StoredDay) => number,
): readonly StoredDay[] {
  const month = first.day.slice(0, 7);
  const contents = expectedContents(first);
  const group = [first];
  let size = sizeOf(first);
  for (const day of days.slice(days.findIndex((each) => each.day === first.day) + 1)) {
    size += sizeOf(day);
    if (size > max || !day.day.startsWith(month) || expectedContents(day) !== contents) break;
    group.push(day);
  }
  return group;
}

async function readCompared(options: CompareWithTable, days: ComparedDays): Promise<Compared> {
  const { store, run, mayBeTransformed, signal } = options;
  const altered = !mayBeTransformed;
  for (let reads = 0; reads < readsMax; reads += 1) {
    signal.throwIfAborted();
    const counts = await readStore(() => comparedCounts(store, run, days));
    const listed = counts.reduce((sum, each) => sum + listedOf(each, altered), 0);
    const differing = listed === 0 ? [] : await readStore(() => differingEvents(store, run, days, { altered }));
    // Live capture or another run may have stored some of them between the two reads.
    if (differing.length === listed) return { counts, differing };
  }
  throw new TargetWaitError(`the events from ${days.from} to ${days.to} are changing while they are compared`);
}

function listedOf({ kind, count, otherTimes }: ComparedCount, altered: boolean): number {
  if (kind === 'other') return otherTimes;
  return kind === 'same' || (kind === 'altered' && !altered) ? 0 : count;
}

interface DayResult extends CompareWithTable {
  readonly day: string;
  /** Other names of the day agree. */
  readonly names: ReadonlySet<string>;
  readonly found: FoundOnDay;
  readonly differences: Differences;
}

async function addCompared(into: DayResult, { counts, differing }: Compared): Promise<void> {
  const { names, found, mayBeTransformed } = into;
  for (const { event, kind, runId, count, otherContents } of counts) {
    const isStored = kind === 'same' || kind === 'other' || (kind === 'altered' && mayBeTransformed);
    if (!isStored || !names.has(event)) continue;
    addCount(found.counts, event, count);
    if (kind === 'altered') found.transformed += count;
    if (kind !== 'other') continue;
    addCount(found.byOthers, runId, count);
    found.otherProperties += otherContents;
  }
  const suspects = addDifferences(
    into,
    differing.filter(({ event }) => names.has(event)),
  );
  await compareContents(into, suspects, (event) => addCount(found.counts, event, 1));
}

function addCount(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/** Returns the events whose properties have to be compared. */
function addDifferences({ day, differences }: DayResult, differing: readonly DifferingEvent[]): ExpectedIdentity[] {
  const suspects: ExpectedIdentity[] = [];
  const strays: StoredIdentity[] = [];
  const absent = new Map<string, ExpectedIdentity[]>();
  for (const each of differing) {
    const { kind, event, uuid, distinctId, runId } = each;
    const expected = { event, uuid, distinctId, timestamp: each.expectedMicros };
    const stored = { event, uuid, distinctId, timestamp: each.storedMicros, runId };
    if (kind === 'changed') differences.add(changed(day, expected, stored));
    else if (kind === 'other') differences.add(earlier(day, expected, stored));
    else if (kind === 'altered') suspects.push(expected);
    else if (kind === 'unexpected') strays.push(stored);
    else absent.set(uuid, [...(absent.get(uuid) ?? []), expected]);
  }
  // An expected event may be stored with another name or id.
  for (const stray of strays) {
    const match = absent.get(stray.uuid)?.shift();
    differences.add(match === undefined ? unexpected(day, stray) : changed(day, match, stray));
  }
  for (const same of absent.values()) for (const each of same) differences.add(missing(day, each));
  return suspects;
}
