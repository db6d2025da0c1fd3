import { Type, type Static } from 'typebox';

/** Names of events and properties, for pickers. */

const search = Type.Optional(
  Type.String({ maxLength: 200, description: 'Only names that contain this, in any case.' }),
);
const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'Names at most, the most frequent first.' }),
);
const common = {
  as_of: Type.String({ format: 'date-time', description: 'When the events were looked at; a minute ago or so.' }),
  count: Type.Integer({ minimum: 0, description: 'Names that fit, whatever the limit.' }),
};

export const eventNamesQuerySchema = Type.Object({ search, limit });

export const eventNamesSchema = Type.Object({
  ...common,
  results: Type.Array(
    Type.Object({
      name: Type.String(),
      count: Type.Integer({ description: 'Stored events; what was sent twice may count twice for a while.' }),
      last_seen: Type.String({ format: 'date-time', description: 'Time of the newest one.' }),
    }),
  ),
});
export type EventNamesRecord = Static<typeof eventNamesSchema>;

export const propertyNamesQuerySchema = Type.Object({
  search,
  limit,
  event: Type.Optional(Type.String({ description: 'Only of events of this name. Default: of all.' })),
});

export const propertyTypes = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const;

export const propertyNamesSchema = Type.Object({
  ...common,
  sampled_events: Type.Integer({ description: 'So many of the newest events were looked into.' }),
  results: Type.Array(
    Type.Object({
      name: Type.String(),
      types: Type.Array(Type.Enum([...propertyTypes]), { description: 'Of its values, sorted.' }),
      count: Type.Integer({ description: 'Events of the sample that have it.' }),
      last_seen: Type.String({ format: 'date-time', description: 'Time of the newest one of the sample.' }),
    }),
  ),
});
export type PropertyNamesRecord = Static<typeof propertyNamesSchema>;
