import { Type, type Static } from 'typebox';
import { unusualValues, type UnusualValue, type RuleOf } from './unusual-values.ts';
import { stated } from './stated.ts';

const textLimits = { minLength: 1, maxLength: 400 } as const;
const text = Type.String(textLimits);
const listMax = 1000;

function names(description: string) {
  return Type.Optional(Type.Array(text, { minItems: 1, maxItems: listMax, description }));
}

const closed = { additionalProperties: false } as const;

const renames = Type.Record(Type.String(), text, { maxProperties: listMax });
const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]);
const valueTable = Type.Record(Type.String(), scalar, { maxProperties: 10_000 });

const lists = {
  only: names('Nothing but these. A name, or a pattern: `*` stands for any characters.'),
  except: names('Never these, whatever `only` says. Names or patterns.'),
};

function rule<Value extends UnusualValue>(value: Value) {
  const { rules, what, does } = unusualValues[value];
  // Sound: a list of the same literals, which is what the schema's type is made of.
  return Type.Optional(Type.Enum([...rules] as RuleOf<Value>[], { description: `${what} ${does}`, default: rules[0] }));
}

/** What of a source is imported, and as what: data, the same for every source and every format. */
export const importChoiceSchema = Type.Object(
  {
    time: Type.Optional(
      Type.Object(
        {
          from: Type.Optional(Type.String({ ...stated.time, description: 'ISO 8601: events of this time and later.' })),
          to: Type.Optional(Type.String({ ...stated.time, description: 'ISO 8601: events before this time.' })),
        },
        {
          ...closed,
          description:
            "By the event's own time. `from` and `to` of the run mean this where a source has no times to ask for.",
        },
      ),
    ),
    events: Type.Optional(Type.Object(lists, { ...closed, description: 'Names as they are stored.' })),
    properties: Type.Optional(
      Type.Object(
        {
          ...lists,
          rename: Type.Optional({
            ...renames,
            description: 'Old name → new name. Where the new one is taken the old one stays.',
          }),
          values: Type.Optional(
            Type.Record(Type.String(), valueTable, {
              maxProperties: listMax,
              description: 'Name → value as text → what is stored instead; null leaves it out, other values stay.',
            }),
          ),
        },
        {
          ...closed,
          description:
            'Names wherever they stand: on the event, in `$set`, `$set_once` and `$group_set`. Renamed first, then translated, then listed.',
        },
      ),
    ),
    identity: Type.Optional(
      Type.Enum(['first_user', 'merge', 'never_merge', 'device_only'], {
        default: 'first_user',
        description:
          'Which user the events of a device belong to. `first_user`: what the device did anonymously belongs to its first user by the time of ' +
          'the events; later users are persons of their own. `merge`: all users of a device become one person, unless each is known ' +
          'already. `never_merge`: every id stays a person of its own. `device_only`: events belong to the device that sent them, where ' +
          'the record names one; no person is identified.',
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
                'CSV, Parquet or JSON, as the source `files` takes its paths: a file, `upload:name`. `source:name`: a lookup table of the source itself (Mixpanel).',
            }),
            on: Type.String({
              ...textLimits,
              description: 'Property of the event whose value is the key; `distinct_id`: that.',
            }),
            column: Type.Optional(
              Type.String({
                ...textLimits,
                description: 'Column of the table that has the key. Left out: it is called as `on`.',
              }),
            ),
            first_column: Type.Optional(
              Type.Boolean({
                description: 'The key is in the first column, as in lookup tables of other tools; instead of `column`.',
              }),
            ),
            columns: names('Columns that are taken. Names or patterns; left out: all.'),
            as: Type.Optional(
              Type.Enum(['event', 'person'], {
                description: 'Properties of the event, or of its person. Left out: of the event.',
              }),
            ),
          },
          closed,
        ),
        { maxItems: 5, description: 'Columns of a table as properties. What the event says itself stays.' },
      ),
    ),
    user_agent: Type.Optional(
      Type.Boolean({
        description:
          'Read `$useragent` or `$raw_user_agent` into `$browser`, `$browser_version`, `$os`, `$device_type`, …',
      }),
    ),
    sample: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1,
        description:
          'Share of the distinct ids whose events are taken, all of them or none: 0.1 is a tenth. Who is in stays in when it grows.',
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
export type NameLists = NonNullable<ImportChoice['events']>;
