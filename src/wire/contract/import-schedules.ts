import { Type, type Static } from 'typebox';
import {
  everyMinutesMax,
  everyMinutesMin,
  overlapMinutesDefault,
  overlapMinutesMax,
} from './import-schedule-limits.ts';
import { importRunStates } from './import-runs.ts';
import { orNull } from './or-null.ts';
import { pageSchema } from './pagination.ts';
import { stated, statedChoice } from './stated.ts';

const everyMinutes = Type.Integer({
  minimum: everyMinutesMin,
  maximum: everyMinutesMax,
  description: 'A run each so many minutes, counted from 1970: 60 is each full hour. Instead of `daily_at`.',
});
const dailyAt = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  maxLength: 5,
  description: 'A run a day at this time by the clocks of the project. Instead of `every_minutes`.',
  examples: ['03:30'],
});
const overlapMinutes = Type.Integer({
  minimum: 0,
  maximum: overlapMinutesMax,
  description:
    'How far a run reaches back before the end of the one before it, for data that came late; what is there already is not ' +
    `stored twice. Default ${overlapMinutesDefault}.`,
});
const paused = Type.Boolean({
  description: 'No run is started; what was missed is made up for afterwards, by one run.',
});
const from = Type.String({
  ...stated.time,
  description: 'Where the first run begins. Left out: now, or where the schedule had come to. ISO 8601.',
});
const time = orNull(Type.String({ format: 'date-time' }));

export const importScheduleSchema = Type.Object({
  plugin_config: Type.Integer({ description: 'Id of the import app config.' }),
  config_name: Type.String({ description: 'Its name; where it has none, that of its app.' }),
  every_minutes: orNull(Type.Integer()),
  daily_at: orNull(Type.String()),
  overlap_minutes: Type.Integer(),
  paused,
  covered_to: Type.String({
    format: 'date-time',
    description: 'Everything before it is imported; the next run begins there, less the overlap.',
  }),
  next_at: orNull(Type.String({ format: 'date-time' }), 'When the next run is due; null: it is paused.'),
  run: orNull(Type.String(), 'Id of its run that has not ended; null: there is none.'),
  run_state: orNull(Type.Enum([...importRunStates])),
  last_run: orNull(
    Type.Object({
      id: Type.String(),
      state: Type.Enum([...importRunStates]),
      scheduled: Type.Boolean({ description: 'False: somebody started it.' }),
      created_at: Type.String({ format: 'date-time' }),
      finished_at: time,
    }),
    'The newest run of the app, whoever started it; null: it has none.',
  ),
  error: Type.String({ description: 'Why no run could be started when the last one was due; empty: one could.' }),
  created_at: time,
  updated_at: time,
});
export type ImportScheduleRecord = Static<typeof importScheduleSchema>;
export const importSchedulePageSchema = pageSchema(importScheduleSchema);

/** When, for files of configuration: one of the first two. */
export const scheduleFields = {
  every_minutes: Type.Optional(everyMinutes),
  daily_at: Type.Optional(dailyAt),
  overlap_minutes: Type.Optional(overlapMinutes),
  paused: Type.Optional(paused),
};

/** One of the two says when. */
export const importScheduleSetSchema = Type.Object(
  {
    ...scheduleFields,
    from: Type.Optional(from),
  },
  statedChoice(['every_minutes'], ['daily_at']),
);
export type ImportScheduleSet = Static<typeof importScheduleSetSchema>;

export const importScheduleUpdateSchema = Type.Object({ paused });
export type ImportScheduleUpdate = Static<typeof importScheduleUpdateSchema>;
