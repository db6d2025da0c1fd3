import { Type, type Static } from 'typebox';
import { eventSelectionSchema } from './event-selection.ts';
import { orNull } from './or-null.ts';

/** Background replays of stored events through a plugin's `onEvent` or `exportEvents`. */

export const replayMethods = ['onEvent', 'exportEvents'] as const;
export type ReplayMethod = (typeof replayMethods)[number];
export const replayRateMax = 100_000;

const plugin_config = Type.Integer({ description: 'Id of an enabled plugin config.' });
const method = Type.Enum([...replayMethods], {
  description: 'Method that receives the events. Required if the plugin has both.',
});
const selection = Type.Object(eventSelectionSchema.properties, {
  description: 'Which stored events. Without conditions all.',
});
const events_per_second = Type.Integer({
  minimum: 1,
  maximum: replayRateMax,
  description: 'Upper limit of the speed. Default: as fast as the plugin.',
});

export const eventReplayStartSchema = Type.Object({
  plugin_config,
  method: Type.Optional(method),
  selection: Type.Optional(selection),
  events_per_second: Type.Optional(events_per_second),
});
export type EventReplayStart = Static<typeof eventReplayStartSchema>;

const spec = Type.Object({
  plugin_config,
  method,
  selection,
  events_per_second: Type.Optional(events_per_second),
});
export type EventReplaySpec = Static<typeof spec>;

const counts = {
  total: Type.Integer({ description: 'Number of selected events when the replay started.' }),
  delivered: Type.Integer({ description: 'Number of events that the plugin has accepted.' }),
  failed: Type.Integer({
    description:
      'Number of events that the plugin rejected. Their deliveries are failed jobs of the config, which can be retried.',
  }),
};

const progress = Type.Object({
  ...counts,
  events_per_second: Type.Number({ description: 'Average speed of this worker.' }),
  received_before: Type.String({ description: 'Events received from this time on are not replayed.' }),
  position: orNull(Type.String(), 'Cursor of the last event that was passed to the config. Null before the first.'),
  is_read: Type.Boolean({ description: 'Whether all selected events have been passed to the config.' }),
  pending: Type.Array(Type.Object({ job: Type.String(), events: Type.Integer() }), {
    description: 'Deliveries that are not decided.',
  }),
  failed_jobs: Type.Array(Type.String(), { description: 'Failed deliveries.' }),
});
export type EventReplayProgress = Static<typeof progress>;

const result = Type.Object({ ...counts, failed_jobs: progress.properties.failed_jobs });
export type EventReplayResult = Static<typeof result>;

export const eventReplaySchemas = { spec, progress, result };
