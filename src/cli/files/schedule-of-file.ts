import { overlapMinutesDefault } from '../../wire/contract/import-schedule-limits.ts';
import type { ImportScheduleRecord } from '../../wire/contract/import-schedules.ts';
import type { ConfigEntry } from './configuration-file.ts';

/** All of a schedule that a file says; how far it has come is the service's own. */
export interface ScheduleOfFile {
  readonly [field: string]: string | number | boolean;
  readonly overlap_minutes: number;
  readonly paused: boolean;
}

/** With what is left out. */
export function wantedSchedule(schedule: NonNullable<ConfigEntry['schedule']>): ScheduleOfFile {
  const {
    every_minutes: every,
    daily_at: at,
    overlap_minutes: overlap = overlapMinutesDefault,
    paused = false,
  } = schedule;
  return whole(every, at, overlap, paused);
}

export function presentSchedule(record: ImportScheduleRecord): ScheduleOfFile {
  const { every_minutes: every, daily_at: at, overlap_minutes: overlap, paused } = record;
  return whole(every ?? undefined, at ?? undefined, overlap, paused);
}

/** In one order, so that two can be compared. */
function whole(every: number | undefined, at: string | undefined, overlap: number, paused: boolean): ScheduleOfFile {
  const when = { ...(every !== undefined && { every_minutes: every }), ...(at !== undefined && { daily_at: at }) };
  return { ...when, overlap_minutes: overlap, paused };
}
