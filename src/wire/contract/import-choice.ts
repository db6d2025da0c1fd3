import { Type, type Static } from 'typebox';
import { unusualValueKeys, unusualValues, type UnusualValue, type RuleOf } from './unusual-values.ts';
import { stated } from './stated.ts';

const textLimits = { minLength: 1, maxLength: 400 } as const;
const text = Type.String(textLimits);
const listMax = 1000;

function names(description: string) {
  return Type.Optional(Type.Array(text, { minItems: 1, maxItems: listMax, description }));
}

export const identityRules = ['first_user', 'merge', 'never_merge', 'device_only'] as const;

const closed = { additionalProperties: false } as const;

const renames = Type.Record(Type.String(), text, { maxProperties: listMax });
const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);
const valueTable = Type.Record(Type.String(), scalar, { maxProperties: 10_000 });

const lists = {
  only: names('Only these names or patterns; `*` matches any characters.'),
  except: names('Names or patterns to exclude, even if `only` includes them.'),
};

function rule<Value extends UnusualValue>(value: Value) {
  const { rules, what, does } = unusualValues[value];
  // Sound: a list of the same literals, which the schema's type is derived from.
  return Type.Optional(Type.Enum([...rules] as RuleOf<Value>[], { description: `${what} ${does}`, default: rules[0] }));
}

/** Which records of a source are imported, and how they are renamed. Independent of source and format. */
export const importChoiceSchema = Type.Object(
  {
    time: Type.Optional(
      Type.Object(
        {
          from: Type.Optional(
            Type.String({ ...stated.time, description: 'Only events at this ISO 8601 time or later.' }),
          ),
          to: Type.Optional(Type.String({ ...stated.time, description: 'Only events before this ISO 8601 time.' })),
        },
        {
          ...closed,
          description:
            "Range of the events' timestamps. `from` and `to` of the run mean the same if the source cannot be queried by time.",
        },
      ),
    ),
    events: Type.Optional(Type.Object(lists, { ...closed, description: 'Event names, as stored.' })),
    properties: Type.Optional(
      Type.Object(
        {
          ...lists,
          rename: Type.Optional({
            ...renames,
            description: 'Old name → new name. If the new name is already present, the old one is kept.',
          }),
          values: Type.Optional(
            Type.Record(Type.String(), valueTable, {
              maxProperties: listMax,
              description: 'Name → value as text → replacement. Null removes the property; other values are kept.',
            }),
          ),
        },
        {
          ...closed,
          description:
            'Property names on the event and in `$set`, `$set_once` and `$group_set`. Names are renamed first, then values replaced, then lists applied.',
        },
      ),
    ),
    identity: Type.Optional(
      Type.Enum([...identityRules], {
        default: 'first_user',
        description:
          'Which user the events of a device belong to. `first_user`: anonymous events of a device belong to its first user by event ' +
          'time; later users are separate persons. `merge`: all users of a device become one person, unless each is already known. ' +
          '`never_merge`: every id stays a separate person. `device_only`: events belong to the device that sent them, if the record ' +
          'names one; no person is identified.',
      }),
    ),
    join: Type.Optional(
      Type.Array(
        Type.Object(
          {
            table: Type.String({
              minLength: 1,
              maxLength: 2000,
              description:
                'CSV, Parquet or JSON file, with a path as in the `files` source, or `upload:name`. `source:name` is a lookup table of the source (Mixpanel).',
            }),
            on: Type.String({
              ...textLimits,
              description: 'Event property that contains the key, or `distinct_id`.',
            }),
            column: Type.Optional(
              Type.String({
                ...textLimits,
                description: 'Column of the table that contains the key. Default is the name in `on`.',
              }),
            ),
            first_column: Type.Optional(
              Type.Boolean({
                description:
                  'Whether the key is in the first column, as in lookup tables of other tools. Excludes `column`.',
              }),
            ),
            columns: names('Columns to add: names or patterns. Default all.'),
            as: Type.Optional(
              Type.Enum(['event', 'person'], {
                description: 'Whether to add event or person properties. Default `event`.',
              }),
            ),
          },
          closed,
        ),
        { maxItems: 5, description: 'Adds columns of a table as properties. Existing properties are kept.' },
      ),
    ),
    user_agent: Type.Optional(
      Type.Boolean({
        description:
          'Parses `$useragent` or `$raw_user_agent` into `$browser`, `$browser_version`, `$os`, `$device_type`, …',
      }),
    ),
    sample: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1,
        description:
          'Share of distinct ids to import, with all of their events: 0.1 is a tenth. A larger share includes a smaller one.',
      }),
    ),
    padded_ids: rule('padded_ids'),
    long_ids: rule('long_ids'),
    long_names: rule('long_names'),
    long_properties: rule('long_properties'),
    odd_times: rule('odd_times'),
  },
  closed,
);
export type ImportChoice = Static<typeof importChoiceSchema>;

/** Rules that a check can repeat without reading the source again. */
export const importRulesSchema = Type.Pick(importChoiceSchema, ['identity', ...unusualValueKeys], closed);
export type ImportRules = Pick<ImportChoice, 'identity' | UnusualValue>;
export type NameLists = NonNullable<ImportChoice['events']>;
