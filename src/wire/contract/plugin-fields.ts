import { Type, type Static } from 'typebox';

/**
 * - string: one line of text
 * - text: multiple lines of text
 * - number, boolean: validated by type, but passed to the plugin as text (`"5"`, `"true"`) like all others, which is what
 *   published plugins expect
 * - choice: one of `choices`
 * - json: a JSON value, or a text that contains one
 * - attachment: a file
 */
export const fieldTypes = ['string', 'text', 'number', 'boolean', 'choice', 'json', 'attachment'] as const;
export type FieldType = (typeof fieldTypes)[number];

/** Key of another field and its required value. `""` means no value; an omitted value means any value. */
const conditions = Type.Optional(
  Type.Array(
    Type.Unsafe<readonly [key: string, value?: unknown]>({ type: 'array', minItems: 1, maxItems: 2, items: {} }),
    {
      description: "Pairs of another field's key and its required value. Without a value, any value matches.",
    },
  ),
);

export const pluginFieldSchema = Type.Object({
  key: Type.String(),
  name: Type.String(),
  type: Type.Enum([...fieldTypes], {
    description:
      '`text`: multiple lines. `json`: a JSON value, or text that contains one. `attachment`: a file. Numbers and booleans are ' +
      'validated by type, and passed to the plugin as text.',
  }),
  default: Type.Optional(Type.Unknown()),
  hint: Type.Optional(Type.String()),
  required: Type.Optional(Type.Boolean()),
  secret: Type.Optional(Type.Boolean({ description: 'Write-only: never returned.' })),
  sent_to: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'For a secret, keys of the settings that determine where it is sent. When one of them changes, the secret must be given ' +
        'again. Defaults to keys whose names end like an address (url, host, endpoint, …).',
    }),
  ),
  choices: Type.Optional(Type.Array(Type.String(), { description: 'Allowed values of a `choice`.' })),
  minimum: Type.Optional(Type.Number({ description: 'Minimum of a `number`.' })),
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
  Type.Object({ markdown: Type.String() }, { description: 'Text between the fields.' }),
]);
export type SchemaEntryRecord = Static<typeof schemaEntrySchema>;
