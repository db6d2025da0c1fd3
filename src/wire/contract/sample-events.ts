import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema, pageSchema } from './pagination.ts';

/** Events that users keep to test transformations. */

const name = Type.String({ minLength: 1, maxLength: 200, description: 'Name, unique in the project.' });
const event = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'Event in the form that clients send: event, distinct_id, properties, and optionally uuid and timestamp.',
});

export const sampleEventSchema = Type.Object({
  id: Type.Integer(),
  name,
  event,
  created_by: orNull(Type.Integer(), 'Id of the user.'),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
});
export type SampleEventRecord = Static<typeof sampleEventSchema>;
export const sampleEventPageSchema = pageSchema(sampleEventSchema);

export const sampleEventQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Text contained in the name, ignoring case.' })),
});

export const sampleEventCreateSchema = Type.Object({ name, event });
export const sampleEventUpdateSchema = Type.Object({ name: Type.Optional(name), event: Type.Optional(event) });
export const sampleEventIdSchema = Type.Object({ id: Type.Integer({ description: 'Id of the sample event.' }) });
