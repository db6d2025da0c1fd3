import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';

/** Events that people keep to try transformations with. */

const name = Type.String({ minLength: 1, maxLength: 200, description: 'Unique in the project.' });
const event = Type.Record(Type.String(), Type.Unknown(), {
  description: 'As clients send it: event, distinct_id, properties; uuid and timestamp where they matter.',
});

export const sampleEventSchema = Type.Object({
  id: Type.Integer(),
  name,
  event,
  created_by: orNull(Type.Integer(), 'Id of a user.'),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
});
export type SampleEventRecord = Static<typeof sampleEventSchema>;
export const sampleEventPageSchema = pageSchema(sampleEventSchema);

export const sampleEventQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of the name, in any case.' })),
});

export const sampleEventCreateSchema = Type.Object({ name, event });
export const sampleEventUpdateSchema = Type.Object({ name: Type.Optional(name), event: Type.Optional(event) });
export const sampleEventIdSchema = Type.Object({ id: Type.Integer({ description: 'Id of the sample event.' }) });
