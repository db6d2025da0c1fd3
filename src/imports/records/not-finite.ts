import type { ReadingNote } from '../source.ts';

const columnsShown = 3;

/** Counts numbers that JSON cannot hold (NaN, Infinity) and that become null in its stead. */
interface NotFinite {
  /** All that may hold such numbers of one record, by column. */
  look(record: Iterable<readonly [column: string, value: unknown]>): void;
  /** Of the records since the last call. */
  take(): readonly ReadingNote[];
}

export function createNotFinite(): NotFinite {
  const columns = new Set<string>();
  let records = 0;
  let numbers = 0;
  return {
    look(record) {
      let own = 0;
      for (const [column, value] of record) {
        const found = notFiniteIn(value);
        if (found > 0 && columns.size < columnsShown) columns.add(column);
        own += found;
      }
      if (own > 0) records += 1;
      numbers += own;
    },
    take() {
      if (records === 0) return [];
      const notes: ReadingNote[] = [...columns].map((sample, index) => ({
        of: 'numbers_not_finite',
        count: index === 0 ? records : 0,
        amount: index === 0 ? numbers : 0,
        sample,
      }));
      columns.clear();
      records = 0;
      numbers = 0;
      return notes;
    },
  };
}

function notFiniteIn(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : 1;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, each) => sum + notFiniteIn(each), 0);
}
