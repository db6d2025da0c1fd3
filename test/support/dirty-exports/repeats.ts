import { createDraw, type Draw } from '../draw.ts';
import type { DirtyRecord, MakeRecords } from './dirty-record.ts';

/** Some records come again, as overlapping downloads have it; `hasId`: of a record without an id of its own the second is another event. */
export function withRepeats(
  make: (draw: Draw, n: number) => DirtyRecord,
  hasId: (text: string) => boolean = () => true,
): MakeRecords {
  return function* (seed, count) {
    const draw = createDraw(seed);
    let earlier: DirtyRecord | undefined;
    for (let n = 0; n < count; n += 1) {
      const record = earlier !== undefined && draw.chance(0.01) ? earlier : make(draw, n);
      if (record.expected.is === 'stored' && hasId(record.text) && draw.chance(0.02)) earlier = record;
      yield record;
    }
  };
}
