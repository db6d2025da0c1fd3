import type { SettingValues } from '../../components/schema-values.ts';
import { choiceSetting, readChoice } from './choice-fields.ts';

/** Import apps that ask their source for one day after another, and need the first one. */
export const appsWithDates: ReadonlySet<string> = new Set(['amplitude', 'mixpanel']);

export interface SourceDates {
  /** First day, YYYY-MM-DD; empty if not set. */
  readonly from: string;
  /** The day after the last one; empty means today. */
  readonly before: string;
}

export function datesOf({ choose }: SettingValues): SourceDates {
  const { from = '', to = '' } = readChoice(choose)?.time ?? {};
  return { from: from.slice(0, 10), before: to.slice(0, 10) };
}

/** Returns the setting that limits an import to these days, and keeps the rest of the selection. */
export function withDates({ choose }: SettingValues, { from, before }: SourceDates): SettingValues {
  const choice = readChoice(choose) ?? {};
  return { choose: choiceSetting({ ...choice, time: { from, to: before } }) };
}

/** Returns the days from some years ago until today. */
export function lastYears(years: number, now: number): SourceDates {
  const day = new Date(now);
  day.setUTCFullYear(day.getUTCFullYear() - years);
  return { from: day.toISOString().slice(0, 10), before: '' };
}

const dayMs = 86_400_000;
const mixpanelRequestsPerHour = 60;

export interface ExportEstimate {
  readonly days: number;
  /** Shortest time that the limits of the source allow; `undefined` if it has none. */
  readonly ms: number | undefined;
}

/** Estimates the export; `undefined` without a first day. */
export function estimateExport(
  slug: string,
  { from, before }: SourceDates,
  { days_per_request: perRequest }: SettingValues,
  now: number,
): ExportEstimate | undefined {
  const start = Date.parse(from);
  const end = before === '' ? now : Date.parse(before);
  if (Number.isNaN(start) || Number.isNaN(end) || end <= start) return undefined;
  const days = Math.ceil((end - start) / dayMs);
  if (slug !== 'mixpanel') return { days, ms: undefined };
  const requests = Math.ceil(days / Math.max(1, Number(perRequest ?? 1) || 1));
  return { days, ms: (requests / mixpanelRequestsPerHour) * 3_600_000 };
}
