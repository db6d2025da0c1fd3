import { dayMicros } from '../../../../wire/batch/timestamps.ts';
import { parseMicros } from '../../../../stores/events/micros.ts';
import type { StoredPlace } from '../../../target.ts';
import { hashIdentity, hashText, type Words } from '../rows/event-keys.ts';
import { createFirstValues, type FirstValues } from '../rows/first-values.ts';

/**
 * Where the target has events that formats add at the first record that requires them: an `$identify` is on another day in a run of
 * another range. The store recognises a duplicate on the same day; on another day it would store it again.
 */
export interface StoredEvents {
  readonly names: readonly string[];
  /** Maps the key of the identity to the number of the day. */
  readonly days: FirstValues;
}

/** Events that formats add once per device and user, and per group. */
export const addedOnce = { identifies: '$identify', groupIdentifies: '$groupidentify' } as const;
/** About 17 bytes each. */
const eventsMax = 16_000_000;
/** Makes the numbers of days before 1970 positive too. */
const dayOffset = 1_000_000;

export const noStoredEvents: StoredEvents = { names: [], days: createFirstValues(0) };

/** Reads stored events. Names without events in the run (`counts`) are not read. */
export async function readStoredEvents(
  counts: Readonly<Record<keyof typeof addedOnce, number>>,
  eventsNamed: (event: string) => AsyncIterable<readonly StoredPlace[]>,
): Promise<StoredEvents> {
  const days = createFirstValues(eventsMax);
  const names = [
    ...(counts.identifies > 0 ? [addedOnce.identifies] : []),
    ...(counts.groupIdentifies > 0 ? [addedOnce.groupIdentifies] : []),
  ];
  const name = { low: 0, high: 0 };
  const id = { low: 0, high: 0 };
  const key = { low: 0, high: 0 };
  for (const event of names) {
    hashText(event, name);
    for await (const page of eventsNamed(event)) {
      for (const { day, uuid, distinctId } of page) {
        hashText(distinctId, id);
        hashIdentity(uuid, name, id, key);
        days.firstOf(key.low, key.high, dayNumber(day));
      }
    }
  }
  return { names, days };
}

/** Returns whether the target has the event on another day. `key` is that of its identity (event-keys.ts). */
export function isElsewhere({ names, days }: StoredEvents, event: string, day: string, key: Words): boolean {
  const own = dayNumber(day);
  return names.includes(event) && (days.get(key.low, key.high) ?? own) !== own;
}

function dayNumber(day: string): number {
  const micros = parseMicros(day);
  if (micros === undefined) throw new RangeError(`expected a day such as 2024-03-01, got: ${day}`);
  return Math.floor(Number(micros) / dayMicros) + dayOffset;
}
