import { Type, type Static } from 'typebox';
import { pageQuerySchema, pageSchema } from './pagination.ts';

export const jobStates = ['queued', 'running', 'succeeded', 'failed'] as const;

export const jobSchema = Type.Object({
  id: Type.String(),
  plugin_config: Type.Integer({ description: 'Id of the plugin config.' }),
  type: Type.String(),
  operation: Type.String(),
  state: Type.Enum([...jobStates]),
  attempts: Type.Integer({ description: 'Times that it was started.' }),
  run_at: Type.String({ format: 'date-time', description: 'When it is due.' }),
  error: Type.String({ description: 'Why the last attempt failed; empty when it did not.' }),
  created_at: Type.String({ format: 'date-time' }),
  finished_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
});
export type JobRecord = Static<typeof jobSchema>;

export const jobPageSchema = pageSchema(jobSchema);

export const jobQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  plugin_config: Type.Optional(Type.Integer({ description: 'Only jobs of this config.' })),
  state: Type.Optional(Type.Enum([...jobStates])),
});
