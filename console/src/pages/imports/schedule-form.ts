import {
  everyMinutesMax,
  everyMinutesMin,
  overlapMinutesDefault,
  overlapMinutesMax,
} from '../../../../src/wire/contract/import-schedule-limits.ts';
import { fromZonedText } from '../../components/zoned-time.ts';
import type { Schedule, ScheduleFields } from './imports-query.ts';

/** The values of the form as typed. */
export interface ScheduleForm {
  readonly timing: 'every' | 'daily';
  /** Minutes. */
  readonly every: string;
  /** `03:30`. */
  readonly daily: string;
  /** Minutes. */
  readonly overlap: string;
  /** In the time zone of the project; empty to start now or continue from the last run. */
  readonly from: string;
  readonly paused: boolean;
}

export function formOf(schedule: Schedule | undefined): ScheduleForm {
  return {
    timing: (schedule?.daily_at ?? null) === null ? 'every' : 'daily',
    every: String(schedule?.every_minutes ?? 60),
    daily: schedule?.daily_at ?? '03:30',
    overlap: String(schedule?.overlap_minutes ?? overlapMinutesDefault),
    from: '',
    paused: schedule?.paused ?? false,
  };
}

/** Validation messages by field. */
export type FormErrors = Readonly<Partial<Record<keyof ScheduleForm, string>>>;

export function errorsOf(form: ScheduleForm): FormErrors {
  const isDaily = form.timing === 'daily';
  return {
    ...(!isDaily && rangeError('every', form.every, everyMinutesMin, everyMinutesMax)),
    ...(isDaily && !/^([01]\d|2[0-3]):[0-5]\d$/.test(form.daily) && { daily: 'Expected a time such as 03:30.' }),
    ...rangeError('overlap', form.overlap, 0, overlapMinutesMax),
  };
}

function rangeError(name: 'every' | 'overlap', text: string, min: number, max: number): FormErrors {
  const value = Number(text);
  if (/^\d{1,6}$/.test(text.trim()) && value >= min && value <= max) return {};
  return { [name]: `Expected ${min.toLocaleString('en')} to ${max.toLocaleString('en')} minutes.` };
}

/** Converts a valid form to the API fields. `timezone` is the project's. */
export function fieldsOf(form: ScheduleForm, timezone: string): ScheduleFields {
  const from = fromZonedText(form.from, timezone);
  return {
    ...(form.timing === 'every' ? { every_minutes: Number(form.every) } : { daily_at: form.daily }),
    overlap_minutes: Number(form.overlap),
    paused: form.paused,
    ...(from !== undefined && { from }),
  };
}

/** Formats the timing: `every 15 min`, `every 6 h`, `daily at 03:30`. */
export function timingText({
  every_minutes: every,
  daily_at: daily,
}: Pick<Schedule, 'every_minutes' | 'daily_at'>): string {
  return every === null ? `daily at ${daily ?? ''}` : `every ${spanText(every)}`;
}

const minutesIn = [
  [1440, 'd'],
  [60, 'h'],
] as const;

/** Formats minutes in the largest unit without a fraction. */
export function spanText(minutes: number): string {
  const unit = minutesIn.find(([size]) => minutes >= size && minutes % size === 0);
  return unit === undefined ? `${minutes} min` : `${minutes / unit[0]} ${unit[1]}`;
}
