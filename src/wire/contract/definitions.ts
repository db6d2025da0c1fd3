import { Type, type Static } from 'typebox';
import { orNull } from './or-null.ts';
import { pageQuerySchema } from './pagination.ts';

/**
 * Definitions of events and properties in the form of PostHog's API. Millrace stores no notes about names, so fields for them
 * are always empty.
 */

const search = Type.Optional(
  Type.String({ maxLength: 200, description: 'Only names that contain this text, ignoring case.' }),
);

const notes = {
  description: Type.Null(),
  tags: Type.Array(Type.String(), { maxItems: 0 }),
  updated_at: Type.Null(),
  updated_by: Type.Null(),
  verified: Type.Literal(false),
  hidden: Type.Literal(false),
};

const id = Type.String({ format: 'uuid', description: 'Derived from project and name.' });

export const eventDefinitionsQuerySchema = Type.Object({ ...pageQuerySchema.properties, search });

export const eventDefinitionSchema = Type.Object({
  id,
  name: Type.String(),
  ...notes,
  owner: Type.Null(),
  created_at: Type.Null(),
  last_seen_at: Type.String({ format: 'date-time', description: 'Time of the newest event.' }),
  is_action: Type.Literal(false),
});
export type EventDefinitionRecord = Static<typeof eventDefinitionSchema>;

export const propertyDefinitionsQuerySchema = Type.Object({
  ...pageQuerySchema.properties,
  search,
  type: Type.Optional(
    Type.Enum(['event'], {
      default: 'event',
      description: 'Person and group properties are part of persons and groups.',
    }),
  ),
  properties: Type.Optional(Type.String({ description: 'Comma-separated names to return.' })),
});

export const propertyDefinitionSchema = Type.Object({
  id,
  name: Type.String(),
  ...notes,
  property_type: orNull(
    Type.Enum(['String', 'Numeric', 'Boolean']),
    'Type of the values in the newest events. Null if types differ or values are lists or objects.',
  ),
  is_numerical: Type.Boolean(),
  is_seen_on_filtered_events: Type.Null(),
});
export type PropertyDefinitionRecord = Static<typeof propertyDefinitionSchema>;
