import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { stated, statedList } from './stated.ts';

/** Logs, metrics and errors of a plugin config. */

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
        'Comma-separated sources to return. `CONSOLE`: written by the plugin. `PLUGIN`: errors of the plugin. `SYSTEM`: actions of ' +
        'the service.',
      maxLength: 100,
    }),
  ),
  search: Type.Optional(
    Type.String({ description: 'Only lines that contain this text, ignoring case.', maxLength: 200 }),
  ),
  after: Type.Optional(Type.String({ ...time, description: 'Only lines from this ISO 8601 time onwards.' })),
  before: Type.Optional(Type.String({ ...time, description: 'Only lines before this ISO 8601 time.' })),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: logLimitMax, default: logLimitDefault, description: 'Lines per page.' }),
  ),
  cursor: Type.Optional(
    Type.String({ ...stated.cursor, description: 'Position after the previous page, from `next`.', maxLength: 100 }),
  ),
});
export type PluginLogQuery = Static<typeof pluginLogQuerySchema>;

export const pluginLogSchema = Type.Object({
  id: Type.String(),
  timestamp: Type.String(dateTime),
  level: Type.Enum([...pluginLogLevels]),
  source: Type.Enum([...pluginLogSources]),
  message: Type.String(),
  instance_id: Type.String({ description: 'Id of the running instance that wrote the line.' }),
});
export type PluginLogRecord = Static<typeof pluginLogSchema>;

export const pluginLogPageSchema = Type.Object({
  next: orNull(Type.String(), 'URL of the next page, with older lines.'),
  previous: Type.Null({ description: 'Always null: pages only go from new to old.' }),
  results: Type.Array(pluginLogSchema, { description: 'Newest first.' }),
});

export const metricIntervals = ['hour', 'day'] as const;
export type MetricInterval = (typeof metricIntervals)[number];

export const pluginMetricsQuerySchema = Type.Object({
  date_from: Type.Optional(
    Type.String({
      ...time,
      description:
        'ISO 8601 time before `date_to`, rounded down to the interval. Default 24 hours ago, with `day` 30 days ago.',
    }),
  ),
  date_to: Type.Optional(
    Type.String({
      ...time,
      description: 'Exclusive ISO 8601 time; its interval is the last. Default now.',
    }),
  ),
  interval: Type.Optional(
    Type.Enum([...metricIntervals], { default: 'hour', description: 'Length of the intervals, in UTC.' }),
  ),
});

export type PluginMetricsQuery = Static<typeof pluginMetricsQuerySchema>;

const counts = {
  succeeded: Type.Integer({ description: 'Events processed successfully.' }),
  failed: Type.Integer({ description: 'Events on which the plugin failed; they passed unchanged.' }),
  dropped: Type.Integer({ description: 'Events that the plugin dropped.' }),
  skipped: Type.Integer({
    description: 'Events that passed unchanged: the filter excludes them, or the plugin could not run.',
  }),
  time_ms: Type.Number({ description: 'Processing time in ms.' }),
};
export const pluginMetricsSchema = Type.Object({
  date_from: Type.String({ ...dateTime, description: 'Start of the first interval.' }),
  date_to: Type.String(dateTime),
  interval: Type.Enum([...metricIntervals]),
  totals: Type.Object(counts),
  series: Type.Array(
    Type.Object({ time: Type.String({ ...dateTime, description: 'Start of the interval.' }), ...counts }),
    {
      description: 'Oldest first. Intervals without events contain zeros.',
    },
  ),
  own: Type.Array(
    Type.Object({
      name: Type.String(),
      kind: Type.Enum(['sum', 'min', 'max']),
      total: Type.Number({ description: 'Value over the whole range, according to `kind`.' }),
      series: Type.Array(Type.Object({ time: Type.String(dateTime), value: Type.Number() }), {
        description: 'Oldest first, without intervals that have no value.',
      }),
    }),
    { description: 'Metrics defined by the plugin.' },
  ),
});
export type PluginMetricsRecord = Static<typeof pluginMetricsSchema>;

const countsPerInterval = (what: string) =>
  Type.Array(Type.Integer(), { description: `${what}, one number per interval.` });

/** Metrics of all configs of a family. */
export const pluginMetricsListSchema = Type.Object({
  date_from: Type.String({ ...dateTime, description: 'Start of the first interval.' }),
  date_to: Type.String(dateTime),
  interval: Type.Enum([...metricIntervals]),
  times: Type.Array(Type.String(dateTime), { description: 'Start of every interval, oldest first.' }),
  results: Type.Array(
    Type.Object({
      plugin_config: Type.Integer({ description: 'Id of the config.' }),
      totals: Type.Object(counts),
      succeeded: countsPerInterval('Events processed successfully'),
      failed: countsPerInterval('Events on which the plugin failed'),
      dropped: countsPerInterval('Events that the plugin dropped'),
      skipped: countsPerInterval('Events that passed unchanged: the filter excludes them, or the plugin could not run'),
    }),
    { description: 'Configs that are not deleted. Those without events contain zeros.' },
  ),
});
export type PluginMetricsListRecord = Static<typeof pluginMetricsListSchema>;

export const pluginErrorListSchema = Type.Object({
  results: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Id of the kind of error.' }),
      method: Type.String({ description: 'Failed method: `processEvent`, `setupPlugin`, the name of a job …' }),
      name: Type.String({ description: 'Error name, e.g. `TypeError`.' }),
      message: Type.String({ description: 'Most recent message.' }),
      stack: Type.String(),
      count: Type.Integer({ description: 'Number of occurrences.' }),
      first_seen: Type.String(dateTime),
      last_seen: Type.String(dateTime),
      samples: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description:
          'Most recent samples, newest first: time, message and event (null for errors without an event, and without `query:read`).',
      }),
    }),
    { description: 'Kinds of errors, most recent first.' },
  ),
});
export type PluginErrorListRecord = Static<typeof pluginErrorListSchema>;
