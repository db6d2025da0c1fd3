import { Type } from 'typebox';
import { orNull } from './or-null.ts';

const option = Type.Object({
  key: Type.String(),
  description: Type.String(),
  default: orNull(Type.String()),
  choices: orNull(Type.Array(Type.String()), 'Null: any text.'),
  schema: orNull(Type.Record(Type.String(), Type.Unknown()), 'Of an option that is JSON: its JSON Schema.'),
});

const summary = {
  slug: Type.String({ description: 'Stable name, e.g. `mixpanel`: what `format` of a run takes.' }),
  name: Type.String(),
  description: Type.String(),
  source: Type.String({ description: 'What the tool calls the export, and where to get it.' }),
  options: Type.Array(option, { description: 'What `format_options` of a run takes.' }),
  sources: Type.Array(Type.String(), {
    description: 'Slugs of the import apps whose records may have it; the others are for any format.',
  }),
};

export const importFormatSummarySchema = Type.Object(summary);
export const importFormatListSchema = Type.Object({
  count: Type.Integer(),
  results: Type.Array(importFormatSummarySchema, { description: 'By slug.' }),
});

const names = Type.Record(Type.String(), orNull(Type.String()));
export const importFormatSchema = Type.Object({
  ...summary,
  names: Type.Object(
    { events: names, properties: names, person_properties: names },
    {
      description:
        'Name at the source → name in the event; null: left out. The form that `names` of a run takes, edited or not.',
    },
  ),
  example: Type.Object({
    options: Type.Record(Type.String(), Type.String()),
    records: Type.Array(Type.Unknown(), { description: 'As the source writes them.' }),
    events: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'What becomes of these records.' }),
  }),
});

export const importFormatIdSchema = Type.Object({ slug: Type.String({ description: 'Slug of the format.' }) });
