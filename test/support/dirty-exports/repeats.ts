import { createDraw, type Draw } from '../draw.ts';
import type { DirtyRecord, MakeRecords } from './dirty-record.ts';

/** Some records are repeated, as in overlapping downloads. `again`: the outcome for the repeated record; default: the same. */
export function withRepeats(
  make: (draw: Draw, n: number) => DirtyRecord,
  again: (draw: Draw, record: DirtyRecord) => DirtyRecord = (_, record) => record,
): MakeRecords {
  return function* (seed, count) {
    const draw = createDraw(seed);
    let earlier: DirtyRecord | undefined;
    for (let n = 0; n < count; n += 1) {
      const record = earlier !== undefined && draw.chance(0.015) ? again(draw, earlier) : make(draw, n);
      if (record.expected.is === 'stored' && draw.chance(0.02)) earlier = record;
      yield record;
    }
  };
}
