import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { stated, statedList } from './stated.ts';

/** What a plugin config did: its log, its figures, its failures. */

const time = { maxLength: 64, examples: ['2026-11-20T10:00:00Z'], ...stated.time };
const dateTime = { format: 'date-time' };

export const pluginLogLevels = ['DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR'] as const;
export const pluginLogSources = ['CONSOLE', 'PLUGIN', 'SYSTEM'] as const;

export const logLimitDefault = 100;
export const logLimitMax = 1000;

export const pluginLogQuerySchema = Type.Object({
  level: Type.Optional(
    Type.String({
      ...statedList(pluginLogLevels),
      description: `Only these levels, comma-separated: ${pluginLogLevels.join(', ')}.`,
      maxLength: 100,
    }),
  ),
  source: Type.Optional(
    Type.String({
      ...statedList(pluginLogSources),
      description:
        'Only these sources, comma-separated. CONSOLE: the plugin wrote it; PLUGIN: it failed; SYSTEM: the service ' +
        'says what it did with the plugin.',
      maxLength: 100,
    }),
  ),
  search: Type.Optional(
    Type.String({ description: 'Only lines that contain this text, in any case.', maxLength: 200 }),
  ),
  after: Type.Optional(Type.String({ ...time, description: 'Only lines from this time on. ISO 8601.' })),
  before: Type.Optional(Type.String({ ...time, description: 'Only lines before this time. ISO 8601.' })),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: logLimitMax, default: logLimitDefault, description: 'Lines per page.' }),
  ),
  cursor: Type.Optional(
    Type.String({ ...stated.cursor, description: 'Where the page before ended; taken from `next`.', maxLength: 100 }),
  ),
});
export type PluginLogQuery = Static<typeof pluginLogQuerySchema>;

export const pluginLogSchema = Type.Object({
  id: Type.String(),
  timestamp: Type.String(dateTime),
  level: Type.Enum([...pluginLogLevels]),
  source: Type.Enum([...pluginLogSources]),
  message: Type.String(),
  instance_id: Type.String({ description: 'Which running instance of the config wrote it.' }),
});
export type PluginLogRecord = Static<typeof pluginLogSchema>;

export const pluginLogPageSchema = Type.Object({
  next: orNull(Type.String(), 'URL of the next, older page.'),
  previous: Type.Null({ description: 'Pages lead from new to old only.' }),
  results: Type.Array(pluginLogSchema, { description: 'Newest first.' }),
});

export const metricIntervals = ['hour', 'day'] as const;
export type MetricInterval = (typeof metricIntervals)[number];

export const pluginMetricsQuerySchema = Type.Object({
  date_from: Type.Optional(
    Type.String({
      ...time,
      description:
        'ISO 8601, before `date_to`; the whole interval that it lies in. Default: 24 hours ago, by day 30 days ago.',
    }),
  ),
  date_to: Type.Optional(
    Type.String({
      ...time,
      description: 'ISO 8601, exclusive; the interval that it lies in is the last. Default: now.',
    }),
  ),
  interval: Type.Optional(Type.Enum([...metricIntervals], { default: 'hour', description: 'UTC.' })),
});

export type PluginMetricsQuery = Static<typeof pluginMetricsQuerySchema>;

const counts = {
  succeeded: Type.Integer({ description: 'Events that went through.' }),
  failed: Type.Integer({ description: 'Events on which it failed; they went on unchanged.' }),
  dropped: Type.Integer({ description: 'Events that it dropped.' }),
  skipped: Type.Integer({ description: 'Events that passed untouched, because it could not run.' }),
  time_ms: Type.Number({ description: 'Time spent, in ms.' }),
};
export const pluginMetricsSchema = Type.Object({
  date_from: Type.String({ ...dateTime, description: 'Start of the first interval.' }),
  date_to: Type.String(dateTime),
  interval: Type.Enum([...metricIntervals]),
  totals: Type.Object(counts),
  series: Type.Array(
    Type.Object({ time: Type.String({ ...dateTime, description: 'Start of the interval.' }), ...counts }),
    {
      description: 'Oldest first; intervals in which nothing passed are there with zeros.',
    },
  ),
  own: Type.Array(
    Type.Object({
      name: Type.String(),
      kind: Type.Enum(['sum', 'min', 'max']),
      total: Type.Number({ description: 'Over the whole range, by the kind of the metric.' }),
      series: Type.Array(Type.Object({ time: Type.String(dateTime), value: Type.Number() }), {
        description: 'Oldest first; intervals without a value are left out.',
      }),
    }),
    { description: "The plugin's own metrics." },
  ),
});
export type PluginMetricsRecord = Static<typeof pluginMetricsSchema>;

const countsPerInterval = (what: string) =>
  Type.Array(Type.Integer(), { description: `${what}, one number per interval.` });

/** Metrics of all configs of a family at once. */
export const pluginMetricsListSchema = Type.Object({
  date_from: Type.String({ ...dateTime, description: 'Start of the first interval.' }),
  date_to: Type.String(dateTime),
  interval: Type.Enum([...metricIntervals]),
  times: Type.Array(Type.String(dateTime), { description: 'Start of every interval, oldest first.' }),
  results: Type.Array(
    Type.Object({
      plugin_config: Type.Integer({ description: 'Id of the config.' }),
      totals: Type.Object(counts),
      succeeded: countsPerInterval('Events that went through'),
      failed: countsPerInterval('Events on which it failed'),
      dropped: countsPerInterval('Events that it dropped'),
      skipped: countsPerInterval('Events that passed untouched'),
    }),
    { description: 'Configs that are not deleted; one through which nothing passed has zeros.' },
  ),
});
export type PluginMetricsListRecord = Static<typeof pluginMetricsListSchema>;

export const pluginErrorListSchema = Type.Object({
  results: Type.Array(
    Type.Object({
      id: Type.String({ description: 'The same kind of failure has the same id.' }),
      method: Type.String({ description: '`processEvent`, `setupPlugin`, the name of a job …' }),
      name: Type.String({ description: 'Of the error: `TypeError`.' }),
      message: Type.String({ description: 'As it was the last time.' }),
      stack: Type.String(),
      count: Type.Integer({ description: 'How often it happened.' }),
      first_seen: Type.String(dateTime),
      last_seen: Type.String(dateTime),
      samples: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description:
          'The latest few, newest first: time, message, and the event (null without one, and without `query:read`).',
      }),
    }),
    { description: 'Kinds of failure, the latest first.' },
  ),
});
export type PluginErrorListRecord = Static<typeof pluginErrorListSchema>;
