import { dayMicros } from '../../../wire/batch/timestamps.ts';
import { checksumDigits, contentDigits } from '../../checksum.ts';
import { dayOfMicros } from './event-times.ts';
import type { EventSums } from './segment-rows.ts';

/** Count and checksums of what was written, by day and name: the table of the run has to show the same. */
export interface DaySums {
  add(event: EventSums): void;
  /** `names`: of the indices. */
  list(names: readonly string[]): readonly {
    /** YYYY-MM-DD, UTC. */
    readonly day: string;
    readonly event: string;
    readonly count: number;
    readonly checksum: string;
    readonly content: string;
  }[];
}

interface Sum {
  readonly day: number;
  readonly name: number;
  count: number;
  low: number;
  high: number;
  contentLow: number;
  contentHigh: number;
}

export function createDaySums(): DaySums {
  const byDay = new Map<number, Map<number, Sum>>();
  // Neighbours are often of one day and name.
  let last: Sum | undefined;
  const find = (day: number, name: number): Sum => {
    const names = byDay.get(day) ?? new Map<number, Sum>();
    if (names.size === 0) byDay.set(day, names);
    const found = names.get(name) ?? { day, name, count: 0, low: 0, high: 0, contentLow: 0, contentHigh: 0 };
    if (found.count === 0) names.set(name, found);
    return found;
  };
  return {
    add: ({ micros, name, sumLow, sumHigh, contentLow, contentHigh }) => {
      const day = Math.floor(micros / dayMicros);
      if (last?.day !== day || last.name !== name) last = find(day, name);
      last.count += 1;
      last.low ^= sumLow;
      last.high ^= sumHigh;
      last.contentLow ^= contentLow;
      last.contentHigh ^= contentHigh;
    },
    list: (names) =>
      [...byDay].flatMap(([day, sums]) =>
        [...sums.values()].map((sum) => ({
          day: dayOfMicros(day * dayMicros),
          event: names[sum.name] ?? '',
          count: sum.count,
          checksum: checksumDigits(sum.low, sum.high),
          content: contentDigits(sum.contentLow, sum.contentHigh),
        })),
      ),
  };
}
