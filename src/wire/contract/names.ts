import { Type, type Static } from 'typebox';

/** Names of events and properties, for pickers. */

const search = Type.Optional(
  Type.String({ maxLength: 200, description: 'Only names that contain this text, ignoring case.' }),
);
const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Maximum of names, most frequent first.' }),
);
const common = {
  as_of: Type.String({
    format: 'date-time',
    description: 'Time at which the events were read, up to about a minute ago.',
  }),
  count: Type.Integer({ minimum: 0, description: 'Number of matching names, regardless of the limit.' }),
};

export const eventNamesQuerySchema = Type.Object({ search, limit });

export const eventNamesSchema = Type.Object({
  ...common,
  results: Type.Array(
    Type.Object({
      name: Type.String(),
      count: Type.Integer({ description: 'Stored events. Duplicates may be counted twice for a while.' }),
      last_seen: Type.String({ format: 'date-time', description: 'Time of the newest event.' }),
    }),
  ),
});
export type EventNamesRecord = Static<typeof eventNamesSchema>;

export const propertyNamesQuerySchema = Type.Object({
  search,
  limit,
  event: Type.Optional(Type.String({ description: 'Only properties of events with this name. Default all.' })),
});

export const propertyTypes = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const;

export const propertyNamesSchema = Type.Object({
  ...common,
  sampled_events: Type.Integer({ description: 'Number of newest events that were sampled.' }),
  results: Type.Array(
    Type.Object({
      name: Type.String(),
      types: Type.Array(Type.Enum([...propertyTypes]), { description: 'Types of the values, sorted.' }),
      count: Type.Integer({ description: 'Sampled events that have the property.' }),
      last_seen: Type.String({ format: 'date-time', description: 'Time of the newest sampled event that has it.' }),
    }),
  ),
});
export type PropertyNamesRecord = Static<typeof propertyNamesSchema>;
