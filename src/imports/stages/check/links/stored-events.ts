import { dayMicros } from '../../../../wire/batch/timestamps.ts';
import { parseMicros } from '../../../../stores/events/micros.ts';
import type { StoredPlace } from '../../../target.ts';
import { hashIdentity, hashText, type Words } from '../rows/event-keys.ts';
import { createFirstValues, type FirstValues } from '../rows/first-values.ts';

/**
 * Where the target has the events that formats add at the first record that calls for them: an `$identify` stands on another day
 * in a run of another range. What is stored on its own day is a duplicate to the store; what is stored on another day would be
 * stored once more.
 */
export interface StoredEvents {
  readonly names: readonly string[];
  /** Key of the identity → number of the day. */
  readonly days: FirstValues;
}

/** Formats add them once for a device and a user, and for a group. */
export const addedOnce = { identifies: '$identify', groupIdentifies: '$groupidentify' } as const;
/** Some 17 bytes each. */
const eventsMax = 16_000_000;
/** Days before 1970 have numbers above zero, too. */
const dayOffset = 1_000_000;

export const noStoredEvents: StoredEvents = { names: [], days: createFirstValues(0) };

/** `counts`: of the run; what it has none of is not asked for. */
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

/** Whether the target has the event already, on another day. `key`: of its identity (event-keys.ts). */
export function isElsewhere({ names, days }: StoredEvents, event: string, day: string, key: Words): boolean {
  const own = dayNumber(day);
  return names.includes(event) && (days.get(key.low, key.high) ?? own) !== own;
}

function dayNumber(day: string): number {
  const micros = parseMicros(day);
  if (micros === undefined) throw new RangeError(`expected a day such as 2024-03-01, got: ${day}`);
  return Math.floor(Number(micros) / dayMicros) + dayOffset;
}
