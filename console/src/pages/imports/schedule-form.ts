import {
  everyMinutesMax,
  everyMinutesMin,
  overlapMinutesDefault,
  overlapMinutesMax,
} from '../../../../src/wire/contract/import-schedule-limits.ts';
import { fromZonedText } from '../../components/zoned-time.ts';
import type { Schedule, ScheduleFields } from './imports-query.ts';

/** What the form holds, as it was typed. */
export interface ScheduleForm {
  readonly timing: 'every' | 'daily';
  /** Minutes. */
  readonly every: string;
  /** `03:30`. */
  readonly daily: string;
  /** Minutes. */
  readonly overlap: string;
  /** By the clocks of the project; empty: now, or where it had come to. */
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

/** What is wrong with what was typed, by field. */
export type FormFaults = Readonly<Partial<Record<keyof ScheduleForm, string>>>;

export function faultsOf(form: ScheduleForm): FormFaults {
  const isDaily = form.timing === 'daily';
  return {
    ...(!isDaily && wholeFault('every', form.every, everyMinutesMin, everyMinutesMax)),
    ...(isDaily && !/^([01]\d|2[0-3]):[0-5]\d$/.test(form.daily) && { daily: 'Expected a time such as 03:30.' }),
    ...wholeFault('overlap', form.overlap, 0, overlapMinutesMax),
  };
}

function wholeFault(name: 'every' | 'overlap', text: string, min: number, max: number): FormFaults {
  const value = Number(text);
  if (/^\d{1,6}$/.test(text.trim()) && value >= min && value <= max) return {};
  return { [name]: `Expected ${min.toLocaleString('en')} to ${max.toLocaleString('en')} minutes.` };
}

/** Of a form without faults. `timezone`: of the project. */
export function fieldsOf(form: ScheduleForm, timezone: string): ScheduleFields {
  const from = fromZonedText(form.from, timezone);
  return {
    ...(form.timing === 'every' ? { every_minutes: Number(form.every) } : { daily_at: form.daily }),
    overlap_minutes: Number(form.overlap),
    paused: form.paused,
    ...(from !== undefined && { from }),
  };
}

/** `every 15 min`, `every 6 h`, `daily at 03:30`. */
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

/** In the largest unit that needs no fraction. */
export function spanText(minutes: number): string {
  const unit = minutesIn.find(([size]) => minutes >= size && minutes % size === 0);
  return unit === undefined ? `${minutes} min` : `${minutes / unit[0]} ${unit[1]}`;
}
