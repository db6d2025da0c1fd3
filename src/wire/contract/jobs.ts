import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';

export const jobStates = ['queued', 'running', 'succeeded', 'failed'] as const;

export const jobKinds = ['started', 'enqueued', 'scheduled', 'delivery'] as const;

export const jobSchema = Type.Object({
  id: Type.String(),
  plugin_config: Type.Integer({ description: 'Id of the plugin config.' }),
  kind: Type.Enum([...jobKinds], {
    description:
      '`started`: requested through the API. `enqueued`: scheduled by the plugin itself. `scheduled`: a run of ' +
      '`runEveryMinute`, `runEveryHour` or `runEveryDay`. `delivery`: events for `onEvent` or `exportEvents`; successful ones ' +
      'are not kept.',
  }),
  type: Type.String({ description: 'Name of the job, scheduled task or method.' }),
  operation: Type.String(),
  state: Type.Enum([...jobStates]),
  attempts: Type.Integer({ description: 'Number of attempts.' }),
  attempts_max: Type.Integer({ description: 'Maximum number of attempts.' }),
  run_at: Type.String({ format: 'date-time', description: 'Time at which it is due.' }),
  error: Type.String({ description: 'Why the last attempt failed. Empty if it did not.' }),
  created_at: Type.String({ format: 'date-time' }),
  started_at: orNull(Type.String({ format: 'date-time' }), 'Start of the last attempt.'),
  finished_at: orNull(Type.String({ format: 'date-time' })),
  duration_ms: orNull(Type.Integer(), 'Duration of the last attempt. Null until the job is finished.'),
});
export type JobRecord = Static<typeof jobSchema>;

export const jobPageSchema = pageSchema(jobSchema);

export const jobQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  plugin_config: Type.Optional(Type.Integer({ description: 'Only jobs of this config.' })),
  state: Type.Optional(Type.Enum([...jobStates])),
  kind: Type.Optional(Type.Enum([...jobKinds])),
});
