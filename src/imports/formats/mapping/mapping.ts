import { isObject, type JsonObject } from '../../../base/json.ts';
import { unreadable, type NoEvents } from '../event-writer.ts';
import type { Format, Evidence } from '../format.ts';
import { formatByMap, type HeldEvents } from '../format-by-map.ts';
import { kindOf, setMember, valueOfJson, type Json, type Properties } from '../read-values.ts';
import { mappingMap, without } from './map.ts';
import { parentColumn, parseRules, type Rules } from './rules.ts';
import type { ValueRule } from './value-rule.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is the value of the rule `timestamp`.',
    because: 'The user writes the rules; the check shows their results for the first records.',
  },
  zone: {
    rule: 'Zone and unit are `zone` and `format` of the rule. By default the size of a number determines its unit, and texts without a zone are UTC. Spreadsheet dates are rejected unless the rule has the format `excel`.',
    because: 'The user writes the rules; the check shows their results for the first records.',
  },
  ids: {
    rule: 'The uuid is the value of the rule `uuid`, else it is derived from the content.',
    because: 'The user writes the rules; the check shows their results for the first records.',
  },
  links: {
    rule: 'The person is the value of `distinct_id`, the device that of `anonymous_id`.',
    because: 'The user writes the rules; the check shows their results for the first records.',
  },
  counts: {
    rule: 'Records that match the rule `skip` are skipped and counted by reason.',
    because: 'The user writes the rules; the check shows their results for the first records.',
  },
};

const modifiers: JsonObject = {
  default: { description: 'Value to use if the rule finds none.' },
  table: { type: 'object', description: 'Value → value.' },
  else: { description: 'Value to use if the table has no entry; by default the value itself.' },
  type: { enum: ['text', 'number', 'boolean', 'json'] },
};

const kinds: JsonObject = {
  path: {
    type: 'string',
    minLength: 1,
    description: 'A column, or a path such as user.id, also into JSON text.',
  },
  constant: { description: 'The same value for every record.' },
  template: { type: 'string', description: 'Columns in braces: {a}-{b}.' },
  first: {
    type: 'array',
    items: { $ref: '#/$defs/value' },
    description: 'The first of these rules that finds a value.',
  },
};

/** Schema of a rule of one kind with modifiers. */
function ruleObject(more: JsonObject): JsonObject {
  const properties = { ...kinds, ...modifiers, ...more };
  const oneOf = Object.keys(kinds).map((kind) => ({ required: [kind] }));
  return { type: 'object', properties, oneOf, additionalProperties: false };
}

const column: JsonObject = {
  type: 'string',
  minLength: 1,
  description: 'A column, a path, or a template with braces.',
};
const value: JsonObject = { $ref: '#/$defs/value' };
const bag: JsonObject = { $ref: '#/$defs/bag' };

/** Forbids rules. */
function absent(...keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.map((key) => [key, false]));
}

/** JSON Schema of the argument of `parseRules`, for forms and for validation before sending. */
export const rulesSchema: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['timestamp'],
  oneOf: [
    { required: ['event', 'distinct_id'], properties: { records: { const: 'events' }, others: { type: 'boolean' } } },
    {
      required: ['records', 'distinct_id'],
      properties: { records: { const: 'persons' }, ...absent('event', 'properties', 'groups', '$group_set') },
    },
    {
      required: ['records', 'groups'],
      properties: {
        records: { const: 'groups' },
        others: { type: 'boolean' },
        groups: { minProperties: 1, maxProperties: 1, minItems: 1, maxItems: 1 },
        ...absent('event', 'distinct_id', 'anonymous_id', 'properties', '$set', '$set_once'),
      },
    },
  ],
  additionalProperties: false,
  properties: {
    records: {
      enum: ['events', 'persons', 'groups'],
      description: 'What a record describes; by default an event. Persons and groups have no event name.',
    },
    event: value,
    distinct_id: value,
    timestamp: { $ref: '#/$defs/time' },
    uuid: value,
    anonymous_id: value,
    properties: bag,
    others: {
      enum: [true, false, '$set_once'],
      description:
        'Whether columns that no rule uses become properties; true unless `properties` is given. Of persons they become `$set`, or `$set_once`.',
    },
    $set: bag,
    $set_once: bag,
    groups: bag,
    $group_set: bag,
    skip: {
      type: 'array',
      items: {
        type: 'object',
        required: ['if'],
        additionalProperties: false,
        properties: {
          if: value,
          is: { description: 'A value or a list of values; by default any value.' },
          reason: { type: 'string' },
        },
      },
    },
    nothing: { type: 'array', items: { type: 'string' }, description: 'Texts that represent a missing value.' },
    each: value,
    source: { type: 'string', description: 'Separates the ids of different sources.' },
  },
  $defs: {
    value: { anyOf: [column, ruleObject({})] },
    time: {
      anyOf: [
        column,
        ruleObject({
          format: {
            type: 'string',
            minLength: 1,
            description:
              'iso, s, ms, us, ns, excel (serial dates of a spreadsheet), or a pattern such as dd.MM.yyyy HH:mm:ss; by default any common format.',
          },
          zone: { type: 'string', description: 'Zone of times without one, such as Europe/Berlin. Default UTC.' },
        }),
      ],
    },
    bag: {
      anyOf: [
        { type: 'array', items: { type: 'string', minLength: 1 }, description: 'Columns, which keep their names.' },
        { type: 'object', additionalProperties: value, description: 'Name → rule.' },
      ],
    },
  },
};

const about = {
  slug: 'mapping',
  name: 'Mapping',
  description:
    'Records of any shape, by rules. `event`, `distinct_id` and `timestamp` are required; `records`, `uuid`, `anonymous_id`, `properties`, ' +
    '`others`, `$set`, `$set_once`, `groups`, `$group_set`, `skip`, `nothing`, `each` and `source` are optional. A rule is a column or path ' +
    '(`"user.id"`, also into JSON text), a template (`"{a}-{b}"`), or an object with one of `path`, `constant`, `template`, `first` (a list of rules) and any of ' +
    '`default`, `table` (value → value), `else`, `type` (text, number, boolean, json). `timestamp` may have `format` (iso, s, ' +
    'ms, us, ns, excel or a pattern such as `dd.MM.yyyy HH:mm:ss`) and `zone`. `properties`, `$set`, `$set_once`, `groups` and `$group_set` are lists ' +
    'of columns or objects of name → rule. `$group_set` sets properties of the one group in `groups`, for the event `$groupidentify`. Columns that no rule uses become properties if `others` is true, the default ' +
    'unless `properties` is given. `records` is `persons` or `groups` for a table that describes one per record, instead of events: each record becomes ' +
    'a `$set` of the person in `distinct_id` (`anonymous_id` is another id of it), or a `$groupidentify` of the one group in `groups`, and other columns become its properties; ' +
    '`others` may then be `$set_once`. `skip` is a list of `{"if": rule, "is": values, "reason": text}`. `nothing` lists texts ' +
    'that represent a missing value (`["NULL", "\\\\N", ""]`); by default an empty text is a property and null is not. `each` is ' +
    'the list of events in a record (`"data"`): the rules apply to each of them, and the surrounding record is `parent` ' +
    '(`"parent.app"`). `source` separates the ids of different sources.',
  source: 'Rows and objects of any tool: a CSV with a header, a warehouse query, JSON lines.',
  options: [
    { key: 'mapping', label: 'Mapping rules', description: 'The rules, as JSON. Required', schema: rulesSchema },
  ],
  evidence,
  names: { events: {}, properties: {}, person_properties: {} },
  example,
};

/** Reads records of any shape by rules that a user writes. */
export const mapping: Format = formatByMap(about, ({ options, names, writer }) => {
  const rules = parseRules(options['mapping'] ?? '');
  const { each, nothing } = rules;
  const map = mappingMap(rules, writer, names);
  return each === undefined ? map : { ...map, held: (record) => eventsIn(record, each, nothing) };
});

function eventsIn(
  record: Json,
  { read: listOf, columns }: ValueRule,
  nothing: Rules['nothing'],
): HeldEvents | NoEvents {
  const found = valueOfJson(listOf(record));
  const items: unknown = isObject(found) ? [found] : found;
  if (!Array.isArray(items)) return unreadable(`each: expected a list of events, got ${kindOf(found)}`);
  const around: Properties = {};
  for (const column of Object.keys(record)) if (!columns.includes(column)) setMember(around, column, record[column]);
  const parent = without(nothing, around);
  const recordOf = (item: Json): Json => ({ ...without(nothing, item), [parentColumn]: parent });
  return { items, name: 'each', nothing: 'a record without events', recordOf };
}
