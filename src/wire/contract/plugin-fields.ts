import { Type, type Static } from 'typebox';

/**
 * - string: a line of text
 * - text: text of many lines
 * - number, boolean: checked as what they are; like all the others they reach the plugin as text (`"5"`, `"true"`), which is what
 *   published plugins expect
 * - choice: one of `choices`
 * - json: a JSON value, or a text that holds one
 * - attachment: a file
 */
export const fieldTypes = ['string', 'text', 'number', 'boolean', 'choice', 'json', 'attachment'] as const;
export type FieldType = (typeof fieldTypes)[number];

/** Key of another field and the value that it must have (`""`: none); without a value: any but none. */
const conditions = Type.Optional(
  Type.Array(
    Type.Unsafe<readonly [key: string, value?: unknown]>({ type: 'array', minItems: 1, maxItems: 2, items: {} }),
    {
      description: 'Pairs of the key of another field and the value that it must have; without a value: any but none.',
    },
  ),
);

export const pluginFieldSchema = Type.Object({
  key: Type.String(),
  name: Type.String(),
  type: Type.Enum([...fieldTypes], {
    description:
      '`text`: of many lines; `json`: a JSON value, or text that holds one; `attachment`: a file. Numbers and flags are checked ' +
      'as what they are, and reach the plugin as text.',
  }),
  default: Type.Optional(Type.Unknown()),
  hint: Type.Optional(Type.String()),
  required: Type.Optional(Type.Boolean()),
  secret: Type.Optional(Type.Boolean({ description: 'Write-only: never shown again.' })),
  sent_to: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Of a secret: keys of the settings that say where it is sent. When one of them changes, it has to be given again. ' +
        'Default: those whose names end like an address (url, host, endpoint, …).',
    }),
  ),
  choices: Type.Optional(Type.Array(Type.String(), { description: 'Of a `choice`.' })),
  minimum: Type.Optional(Type.Number({ description: 'Of a `number`, as the next two.' })),
  maximum: Type.Optional(Type.Number()),
  integer: Type.Optional(Type.Boolean()),
  order: Type.Optional(Type.Number()),
  markdown: Type.Optional(Type.String({ description: 'Text to show with the field.' })),
  required_if: conditions,
  visible_if: conditions,
});
/** One setting of a plugin. */
export type PluginFieldRecord = Static<typeof pluginFieldSchema>;

export const schemaEntrySchema = Type.Union([
  pluginFieldSchema,
  Type.Object({ markdown: Type.String() }, { description: 'Text between the fields; no setting.' }),
]);
export type SchemaEntryRecord = Static<typeof schemaEntrySchema>;
