import { Type, type Static } from 'typebox';
import {
  everyMinutesMax,
  everyMinutesMin,
  overlapMinutesDefault,
  overlapMinutesMax,
} from './import-schedule-limits.ts';
import { importRunStates } from './import-run-states.ts';
import { orNull } from './or-null.ts';
import { pageSchema } from './pagination.ts';
import { stated, statedChoice } from './stated.ts';

const everyMinutes = Type.Integer({
  minimum: everyMinutesMin,
  maximum: everyMinutesMax,
  description: 'Interval of runs in minutes, counted from 1970: 60 is every full hour. Excludes `daily_at`.',
});
const dailyAt = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  maxLength: 5,
  description: "Time of the daily run, in the project's time zone. Excludes `every_minutes`.",
  examples: ['03:30'],
});
const overlapMinutes = Type.Integer({
  minimum: 0,
  maximum: overlapMinutesMax,
  description:
    'Minutes before the end of the previous run that a run reads again, for data that arrives late. Events that are already stored ' +
    `are not stored twice. Default ${overlapMinutesDefault}.`,
});
const paused = Type.Boolean({
  description: 'True starts no runs. After resuming, one run covers what was missed.',
});
const from = Type.String({
  ...stated.time,
  description: "ISO 8601 time from which the first run imports. Defaults to now, or to the schedule's position.",
});
const time = orNull(Type.String({ format: 'date-time' }));

export const importScheduleSchema = Type.Object({
  plugin_config: Type.Integer({ description: 'Id of the import app config.' }),
  config_name: Type.String({ description: 'Name of the config, or of its app.' }),
  every_minutes: orNull(Type.Integer()),
  daily_at: orNull(Type.String()),
  overlap_minutes: Type.Integer(),
  paused,
  covered_to: Type.String({
    format: 'date-time',
    description: 'Everything before this time is imported. The next run starts here, minus the overlap.',
  }),
  next_at: orNull(Type.String({ format: 'date-time' }), 'Time at which the next run is due. Null if paused.'),
  run: orNull(Type.String(), 'Id of the current run. Null if no run is active.'),
  run_state: orNull(Type.Enum([...importRunStates])),
  last_run: orNull(
    Type.Object({
      id: Type.String(),
      state: Type.Enum([...importRunStates]),
      scheduled: Type.Boolean({ description: 'False if a user started it.' }),
      created_at: Type.String({ format: 'date-time' }),
      finished_at: time,
    }),
    'The newest run of the config, scheduled or not. Null before the first run.',
  ),
  error: Type.String({ description: 'Why the last due run could not be started. Empty if it was.' }),
  created_at: time,
  updated_at: time,
});
export type ImportScheduleRecord = Static<typeof importScheduleSchema>;
export const importSchedulePageSchema = pageSchema(importScheduleSchema);

/** Times of a schedule in configuration files: one of the first two. */
export const scheduleFields = {
  every_minutes: Type.Optional(everyMinutes),
  daily_at: Type.Optional(dailyAt),
  overlap_minutes: Type.Optional(overlapMinutes),
  paused: Type.Optional(paused),
};

/** Requires exactly one of the two. */
export const importScheduleSetSchema = Type.Object(
  {
    ...scheduleFields,
    from: Type.Optional(from),
  },
  statedChoice(['every_minutes'], ['daily_at']),
);
export type ImportScheduleSet = Static<typeof importScheduleSetSchema>;

export const importScheduleUpdateSchema = Type.Object({ paused });
