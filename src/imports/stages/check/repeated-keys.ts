import { createFirstValues } from './first-values.ts';

/**
 * Events that are there on several days with the same name, distinct_id and uuid: within a day they are duplicates,
 * across days they are stored side by side. Remembers a sample of all keys, the same one of every day, that fits into
 * memory.
 */
export interface RepeatedKeys {
  /** `day`: any number that stands for it. */
  add(low: number, high: number, day: number): void;
  /** Exact when all events fit, else estimated from the sample. */
  readonly count: number;
}

const sizeMaxDefault = 2_000_000;

/** One key of so many is in the sample. */
export function sampledShare(eventsTotal: number, sizeMax = sizeMaxDefault): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(eventsTotal / sizeMax)));
}

export function isSampled(high: number, share: number): boolean {
  return high % share === 0;
}

/** `eventsTotal`: how many events the run has; decides how large the sample is. */
export function createRepeatedKeys(eventsTotal: number, sizeMax = sizeMaxDefault): RepeatedKeys {
  const share = sampledShare(eventsTotal, sizeMax);
  // The sample may be a little larger than its share.
  const days = createFirstValues(sizeMax * 2);
  let found = 0;
  return {
    add: (low, high, day) => {
      if (!isSampled(high, share)) return;
      const first = days.firstOf(low, high, day);
      if (first !== undefined && first !== day) found += 1;
    },
    get count() {
      return found * share;
    },
  };
}
