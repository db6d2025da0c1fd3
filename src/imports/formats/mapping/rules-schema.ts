import type { JsonObject } from '../../../base/json.ts';

const modifiers: JsonObject = {
  default: { description: 'Where the rule finds nothing.' },
  table: { type: 'object', description: 'Value → value.' },
  else: { description: 'Where the table has no such value; left out: the value itself.' },
  type: { enum: ['text', 'number', 'boolean', 'json'] },
};

const kinds: JsonObject = {
  path: {
    type: 'string',
    minLength: 1,
    description: 'A column, or a path such as user.id; it also leads into JSON text.',
  },
  constant: { description: 'The same value for every record.' },
  template: { type: 'string', description: 'Columns in braces: {a}-{b}.' },
  first: {
    type: 'array',
    items: { $ref: '#/$defs/value' },
    description: 'The first of these rules that finds something.',
  },
};

/** Of one of the kinds, with the same modifiers. */
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

/** What `parseRules` takes, as JSON Schema: for forms, and for whoever checks a mapping before it is sent. */
export const rulesSchema: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['event', 'distinct_id', 'timestamp'],
  additionalProperties: false,
  properties: {
    event: value,
    distinct_id: value,
    timestamp: { $ref: '#/$defs/time' },
    uuid: value,
    anonymous_id: value,
    properties: bag,
    others: {
      type: 'boolean',
      description: 'Whether columns that no rule takes become properties; true unless `properties` is given.',
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
          is: { description: 'A value or a list of values; left out: any value.' },
          reason: { type: 'string' },
        },
      },
    },
    nothing: { type: 'array', items: { type: 'string' }, description: 'Texts that stand for no value.' },
    each: value,
    source: { type: 'string', description: 'Keeps ids of one source apart from those of another.' },
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
              'iso, s, ms, us, ns, excel (serial dates of a spreadsheet), or a pattern such as dd.MM.yyyy HH:mm:ss; without it: any of the usual ones.',
          },
          zone: { type: 'string', description: 'Of times that state none: Europe/Berlin. Default UTC.' },
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
