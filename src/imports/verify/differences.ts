import { isoOfMicros } from '../../eventstore/micros.ts';
import type { VerifyDifference } from '../results.ts';
import type { StoredIdentity } from '../target.ts';
import type { ExpectedIdentity } from './expected.ts';

export interface StoredEvent extends StoredIdentity {
  readonly event: string;
}

/** Differences, the first of them kept, all of them counted. */
export interface Differences {
  add(difference: VerifyDifference): void;
  /** Takes over what another one collected. */
  merge(other: Differences): void;
  readonly kept: readonly VerifyDifference[];
  readonly count: () => number;
  /** How many of one name and kind. */
  readonly of: (event: string, kind: VerifyDifference['kind']) => number;
  readonly events: () => ReadonlySet<string>;
}

export function createDifferences(max: number): Differences {
  const kept: VerifyDifference[] = [];
  const counts = new Map<string, number>();
  const events = new Set<string>();
  let count = 0;
  const keep = (difference: VerifyDifference): void => void (kept.length < max && kept.push(difference));
  return {
    kept,
    count: () => count,
    of: (event, kind) => counts.get(`${kind} ${event}`) ?? 0,
    events: () => events,
    add: (difference) => {
      const { event, kind } = difference;
      count += 1;
      events.add(event);
      counts.set(`${kind} ${event}`, (counts.get(`${kind} ${event}`) ?? 0) + 1);
      keep(difference);
    },
    merge: (other) => {
      count += other.count();
      for (const difference of other.kept) keep(difference);
    },
  };
}

export function missing(day: string, { event, uuid, distinctId, timestamp }: ExpectedIdentity): VerifyDifference {
  const detail = `Expected at ${isoOfMicros(timestamp)}; it is not stored.`;
  return { kind: 'missing', day, event, uuid, distinctId, detail };
}

export function changed(day: string, expected: ExpectedIdentity, stored: StoredEvent): VerifyDifference {
  const { event, uuid, distinctId } = expected;
  return { kind: 'changed', day, event, uuid, distinctId, detail: changeOf(expected, stored) };
}

export function unexpected(day: string, { event, uuid, distinctId, timestamp }: StoredEvent): VerifyDifference {
  const detail = `Stored by this run at ${isoOfMicros(timestamp)}; it is not among the events that were to be loaded.`;
  return { kind: 'unexpected', day, event, uuid, distinctId, detail };
}

function changeOf(expected: ExpectedIdentity, stored: StoredEvent): string {
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
