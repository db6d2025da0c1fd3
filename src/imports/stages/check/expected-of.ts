import type { StoredDay } from '../../run/import-day.ts';

/** Events of a day that are to be loaded, by name. */
export function expectedOf({ expected }: Pick<StoredDay, 'expected'>): [name: string, count: number][] {
  if (expected === '') return [];
  // What settleDays wrote.
  const byName = JSON.parse(expected) as Readonly<Record<string, { readonly count: number }>>;
  return Object.entries(byName).map(([name, { count }]) => [name, count]);
}
