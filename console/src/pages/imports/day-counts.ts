import { toCsv } from '../../components/save-file.ts';
import type { ReportCell, ReportDay } from './run-results.ts';

/** A day with its counts by event name. */
export type Row = ReportDay & { readonly counts: readonly ReportCell[] };

type CountName = 'to_load' | 'loaded' | 'verified' | 'expired' | 'duplicates' | 'rejected';

export const countLabels: Readonly<Record<CountName, string>> = {
  to_load: 'To load',
  loaded: 'Loaded',
  verified: 'Verified',
  expired: 'Expired',
  duplicates: 'Duplicates',
  rejected: 'Rejected by the target',
};

/** Returns the counts to show: those of expired events only if there are any. */
export function countNamesOf(days: readonly ReportDay[]): readonly CountName[] {
  const names = Object.keys(countLabels) as readonly CountName[];
  return days.some(({ expired = 0 }) => expired > 0) ? names : names.filter((name) => name !== 'expired');
}

/** The loaded count, and that of verified and expired events, must equal the count to load. */
export function differs({ to_load: toLoad, loaded, verified, expired = 0 }: ReportDay, name: CountName): boolean {
  if (name === 'loaded') return loaded !== toLoad;
  return name === 'verified' && verified !== null && verified + expired !== toLoad;
}

export function countOf(day: ReportDay, name: CountName): number | null {
  return name === 'expired' ? (day.expired ?? 0) : day[name];
}

export function totalOf(days: readonly ReportDay[], name: CountName): number | null {
  return days.some((day) => day[name] === null) ? null : days.reduce((sum, day) => sum + (day[name] ?? 0), 0);
}

/** Returns whether other events were loaded than were to be, or other ones are stored than were loaded and have not expired. */
export function isCellOff(cell: ReportCell): boolean {
  if (typeof cell === 'number') return false;
  const [toLoad, loaded, found, expired = 0] = cell;
  return toLoad !== loaded || (found !== null && found + expired !== loaded);
}

/** Writes a row per day, with a column for each event name: the verified count, or the loaded one if not verified. */
export function csvOf(rows: readonly Row[], events: readonly string[]): string {
  const eventCount = (cell: ReportCell | undefined): number =>
    cell === undefined ? 0 : typeof cell === 'number' ? cell : (cell[2] ?? cell[1]);
  const countNames = countNamesOf(rows);
  const lines = rows.map((row) => [
    row.day,
    ...countNames.map((name) => countOf(row, name)),
    ...events.map((_event, index) => eventCount(row.counts[index])),
  ]);
  return toCsv([['day', ...countNames, ...events], ...lines]);
}
