import { isoOfMicros } from '../../../stores/events/micros.ts';
import type { VerifyDifference } from '../../run/results.ts';
import type { StoredIdentity } from '../../target.ts';
import type { ExpectedIdentity } from './expected.ts';

/** Collects differences: keeps the first ones and counts all. Those that are no fault (`earlier`) are kept if there is room. */
export interface Differences {
  add(difference: VerifyDifference): void;
  /** Adds the differences of another collection. */
  merge(other: Differences): void;
  readonly kept: () => readonly VerifyDifference[];
  readonly faults: () => number;
  /** Counts events that were stored first elsewhere, with another time. */
  readonly earlier: () => number;
  /** Counts differences of one name and kind. */
  readonly of: (event: string, kind: VerifyDifference['kind']) => number;
  /** Returns whether events are missing. */
  readonly areMissing: () => boolean;
  /** Returns the names of events with a fault. */
  readonly events: () => ReadonlySet<string>;
}

export function createDifferences(max: number): Differences {
  const kept: Record<'fault' | 'earlier', VerifyDifference[]> = { fault: [], earlier: [] };
  const counts = new Map<string, number>();
  const events = new Set<string>();
  let faults = 0;
  let earlier = 0;
  let missing = 0;
  const keep = (difference: VerifyDifference): void => {
    const list = difference.kind === 'earlier' ? kept.earlier : kept.fault;
    if (list.length < max) list.push(difference);
  };
  return {
    kept: () => [...kept.fault, ...kept.earlier].slice(0, max),
    faults: () => faults,
    earlier: () => earlier,
    areMissing: () => missing > 0,
    of: (event, kind) => counts.get(`${kind} ${event}`) ?? 0,
    events: () => events,
    add: (difference) => {
      const { event, kind } = difference;
      if (kind === 'earlier') earlier += 1;
      else {
        faults += 1;
        events.add(event);
      }
      if (kind === 'missing') missing += 1;
      counts.set(`${kind} ${event}`, (counts.get(`${kind} ${event}`) ?? 0) + 1);
      keep(difference);
    },
    merge: (other) => {
      faults += other.faults();
      earlier += other.earlier();
      for (const difference of other.kept()) keep(difference);
    },
  };
}

export function missing(day: string, { event, uuid, distinctId, timestamp }: ExpectedIdentity): VerifyDifference {
  const detail = `Expected at ${isoOfMicros(timestamp)}; it is not stored.`;
  return { kind: 'missing', day, event, uuid, distinct_id: distinctId, detail };
}

export function changed(day: string, expected: ExpectedIdentity, stored: StoredIdentity): VerifyDifference {
  const { event, uuid, distinctId } = expected;
  return { kind: 'changed', day, event, uuid, distinct_id: distinctId, detail: changeOf(expected, stored) };
}

/** `changes` describes each difference in a phrase. */
export function altered(
  day: string,
  { event, uuid, distinctId }: ExpectedIdentity,
  changes: readonly string[],
): VerifyDifference {
  const detail = `Expected ${changes.join('; ')}.`;
  return { kind: 'changed', day, event, uuid, distinct_id: distinctId, detail };
}

/** The store keeps the event that came first. */
export function earlier(day: string, expected: ExpectedIdentity, stored: StoredIdentity): VerifyDifference {
  const { event, uuid, distinctId } = expected;
  const by = stored.runId === '' ? 'outside of imports' : `by the import run ${stored.runId}`;
  const times = `${isoOfMicros(expected.timestamp)}; it was stored ${by} at ${isoOfMicros(stored.timestamp)}`;
  return {
    kind: 'earlier',
    day,
    event,
    uuid,
    distinct_id: distinctId,
    detail: `Expected the time ${times}, which stays.`,
  };
}

export function unexpected(day: string, { event, uuid, distinctId, timestamp }: StoredIdentity): VerifyDifference {
  const detail = `Stored by this run at ${isoOfMicros(timestamp)}; it is not among the events that were to be loaded.`;
  return { kind: 'unexpected', day, event, uuid, distinct_id: distinctId, detail };
}

function changeOf(expected: ExpectedIdentity, stored: StoredIdentity): string {
  const changes = [
    ...(expected.event === stored.event ? [] : [`the name ${expected.event}, stored is ${stored.event}`]),
    ...(expected.distinctId === stored.distinctId
      ? []
      : [`the distinct_id ${expected.distinctId}, stored is ${stored.distinctId}`]),
    ...(expected.timestamp === stored.timestamp
      ? []
      : [`the time ${isoOfMicros(expected.timestamp)}, stored is ${isoOfMicros(stored.timestamp)}`]),
  ];
  return `Expected ${changes.join('; ')}.`;
}
