import { dayMicros } from '../../capture/timestamps.ts';
import { parseMicros } from '../../eventstore/micros.ts';
import type { StoredPlace } from '../target.ts';
import { hashIdentity, hashText } from './event-keys.ts';
import { createFirstValues, type FirstValues } from './first-values.ts';

/**
 * Where the target has the events of one name, for events that formats add at the first record that calls for them: an
 * `$identify` stands on another day in a run of another range. What is stored on its own day is a duplicate to the store;
 * what is stored on another day would be stored once more.
 */
export interface StoredEvents {
  readonly event: string;
  /** Key of the identity → number of the day. */
  readonly days: FirstValues;
}

/** Formats add it once for a device and a user. */
export const addedOnce = '$identify';
/** Some 17 bytes each. */
const eventsMax = 16_000_000;
/** Days before 1970 have numbers above zero, too. */
const dayOffset = 1_000_000;

export function noStoredEvents(): StoredEvents {
  return { event: addedOnce, days: createFirstValues(0) };
}

export async function readStoredEvents(pages: AsyncIterable<readonly StoredPlace[]>): Promise<StoredEvents> {
  const days = createFirstValues(eventsMax);
  const name = { low: 0, high: 0 };
  const id = { low: 0, high: 0 };
  const key = { low: 0, high: 0 };
  hashText(addedOnce, name);
  for await (const page of pages) {
    for (const { day, uuid, distinctId } of page) {
      hashText(distinctId, id);
      hashIdentity(uuid, name, id, key);
      days.firstOf(key.low, key.high, dayNumber(day));
    }
  }
  return { event: addedOnce, days };
}

/** `names`: of the indices. */
export function elsewhereThan(
  day: string,
  { event, days }: StoredEvents,
  names: readonly string[],
): (name: number, low: number, high: number) => boolean {
  const index = names.indexOf(event);
  const own = dayNumber(day);
  return (name, low, high) => name === index && (days.get(low, high) ?? own) !== own;
}

function dayNumber(day: string): number {
  const micros = parseMicros(day);
  if (micros === undefined) throw new RangeError(`expected a day such as 2024-03-01, got: ${day}`);
  return Math.floor(Number(micros) / dayMicros) + dayOffset;
}
