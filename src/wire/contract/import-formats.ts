import { Type } from 'typebox';
import { orNull } from './or-null.ts';

const option = Type.Object({
  key: Type.String(),
  label: Type.String({ description: 'Name of the option for forms.' }),
  description: Type.String(),
  default: orNull(Type.String()),
  choices: orNull(Type.Array(Type.String()), 'Allowed values. Null for any text.'),
  schema: orNull(Type.Record(Type.String(), Type.Unknown()), 'JSON Schema of a JSON option.'),
});

const summary = {
  slug: Type.String({ description: 'Stable name for `format` of a run, e.g. `mixpanel`.' }),
  name: Type.String(),
  description: Type.String(),
  source: Type.String({ description: 'Name of the export in the source tool, and where to get it.' }),
  options: Type.Array(option, { description: 'Options for `format_options` of a run.' }),
  sources: Type.Array(Type.String(), {
    description: 'Slugs of the import apps that can return this format. Other apps work with any format.',
  }),
};

export const importFormatSummarySchema = Type.Object(summary);
export const importFormatListSchema = Type.Object({
  count: Type.Integer(),
  results: Type.Array(importFormatSummarySchema, { description: 'Sorted by slug.' }),
});

const names = Type.Record(Type.String(), orNull(Type.String()));
export const importFormatSchema = Type.Object({
  ...summary,
  names: Type.Object(
    { events: names, properties: names, person_properties: names },
    {
      description: 'Name in the source → name in the event; null omits it. Can be edited and used as `names` of a run.',
    },
  ),
  example: Type.Object({
    options: Type.Record(Type.String(), Type.String()),
    records: Type.Array(Type.Unknown(), { description: 'Records as in the source.' }),
    events: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Events converted from these records.',
    }),
  }),
});

export const importFormatIdSchema = Type.Object({ slug: Type.String({ description: 'Slug of the format.' }) });
