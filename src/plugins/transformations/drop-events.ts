import type { SettingValues } from '../fields.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { propertyPath, readPath } from './properties/property-path.ts';
import { jsonSetting, listSetting, textSetting } from '../setting-values.ts';

type Condition = (properties: JsonObject) => boolean;
type Test = (value: JsonValue | undefined) => boolean;

/** Operators of a condition; each creates its test once. */
const operators: Readonly<Record<string, (expected: JsonValue | undefined) => Test>> = {
  is: (expected) => {
    const allowed = new Set(listOf(expected).map(asText));
    return (value) => value !== undefined && allowed.has(asText(value));
  },
  is_not: (expected) => {
    const refused = new Set(listOf(expected).map(asText));
    return (value) => value === undefined || !refused.has(asText(value));
  },
  contains: (expected) => {
    const parts = listOf(expected).map((part) => asText(part).toLowerCase());
    return (value) => value !== undefined && parts.some((part) => asText(value).toLowerCase().includes(part));
  },
  not_contains: (expected) => {
    const parts = listOf(expected).map((part) => asText(part).toLowerCase());
    return (value) => value === undefined || !parts.some((part) => asText(value).toLowerCase().includes(part));
  },
  is_set: () => (value) => value !== undefined && value !== null,
  is_not_set: () => (value) => value === undefined || value === null,
  gt: (expected) => {
    const bound = asNumber(expected);
    return (value) => asNumber(value) > bound;
  },
  lt: (expected) => {
    const bound = asNumber(expected);
    return (value) => asNumber(value) < bound;
  },
};
const operatorsWithoutValue = new Set(['is_set', 'is_not_set']);

export const dropEvents = defineTransformation({
  slug: 'drop-events',
  name: 'Drop events',
  description: 'Drops events by name, by property, or by both. Dropped events are counted and never stored.',
  alsoKnownAs: ['template-drop-events'],
  fields: [
    {
      key: 'events',
      name: 'Event names',
      type: 'string',
      hint: 'Comma-separated. Empty: events of any name that match the conditions.',
    },
    {
      key: 'conditions',
      name: 'Property conditions',
      type: 'json',
      hint:
        'JSON list, e.g. [{"property": "$host", "operator": "is", "value": ["localhost"]}]. ' +
        `Operators: ${Object.keys(operators).join(', ')}. Nested properties with dots.`,
    },
    {
      key: 'match',
      name: 'Conditions that must hold',
      type: 'choice',
      choices: ['All', 'Any'],
      default: 'All',
      hint: 'Applies to several conditions. The name must always be listed.',
    },
  ],
  example: {
    settings: { events: '$pageview', conditions: '[{"property": "$host", "operator": "is", "value": "localhost"}]' },
    before: { event: '$pageview', properties: { $host: 'localhost' } },
    after: null,
  },
  create(settings) {
    const names = new Set(listSetting(settings, 'events'));
    const conditions = readConditions(settings);
    if (names.size === 0 && conditions.length === 0) {
      throw new SettingsError('give "events" or "conditions": with neither, every event would be dropped');
    }
    const meets = combine(conditions, textSetting(settings, 'match', 'All') === 'Any');
    return (event) => {
      const named = names.size === 0 || names.has(event.event);
      return named && meets(event.properties) ? null : event;
    };
  },
});

function combine(conditions: readonly Condition[], any: boolean): Condition {
  if (conditions.length === 0) return () => true;
  return any
    ? (properties) => conditions.some((condition) => condition(properties))
    : (properties) => conditions.every((condition) => condition(properties));
}

function readConditions(settings: SettingValues): Condition[] {
  const given = jsonSetting(settings, 'conditions');
  if (given === undefined) return [];
  return listOf(given).map((entry, index) => {
    const where = `setting "conditions", entry ${index + 1}`;
    if (!isObject(entry)) throw new SettingsError(`${where}: expected an object with "property" and "operator"`);
    const { property, operator = 'is', value } = entry;
    if (typeof property !== 'string' || property === '') throw new SettingsError(`${where}: "property" is missing`);
    const makeTest =
      typeof operator === 'string' && Object.hasOwn(operators, operator) ? operators[operator] : undefined;
    if (makeTest === undefined || typeof operator !== 'string') {
      throw new SettingsError(`${where}: "operator" must be one of ${Object.keys(operators).join(', ')}`);
    }
    if (value === undefined && !operatorsWithoutValue.has(operator)) {
      throw new SettingsError(`${where}: "value" is missing`);
    }
    if ((operator === 'gt' || operator === 'lt') && Number.isNaN(asNumber(value))) {
      throw new SettingsError(`${where}: "value" must be a number`);
    }
    const path = propertyPath(property);
    const test = makeTest(value);
    return (properties) => test(readPath(properties, path));
  });
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** NaN compares false with everything: a non-number matches no bound. */
function asNumber(value: JsonValue | undefined): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
}
