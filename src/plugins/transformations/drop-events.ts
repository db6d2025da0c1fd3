import type { SettingValues } from '../fields.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import { isObject, type JsonValue } from '../../base/json.ts';
import {
  allHold,
  asNumber,
  comparisons,
  conditionOn,
  conditionOperator,
  conditionProperty,
  type Condition,
  type Operators,
} from './properties/property-conditions.ts';
import { jsonSetting, listSetting, textSetting } from '../setting-values.ts';

const operators: Operators = {
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
  gt: comparisons.gt,
  lt: comparisons.lt,
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
  if (!any || conditions.length === 0) return (properties) => allHold(conditions, properties);
  return (properties) => conditions.some((condition) => condition(properties));
}

function readConditions(settings: SettingValues): Condition[] {
  const given = jsonSetting(settings, 'conditions');
  if (given === undefined) return [];
  return listOf(given).map((entry, index) => {
    const where = `setting "conditions", entry ${index + 1}`;
    if (!isObject(entry)) throw new SettingsError(`${where}: expected an object with "property" and "operator"`);
    const { operator = 'is', value } = entry;
    const property = conditionProperty(where, entry['property']);
    const makeTest = conditionOperator(where, operators, operator);
    if (value === undefined && !operatorsWithoutValue.has(String(operator))) {
      throw new SettingsError(`${where}: "value" is missing`);
    }
    if ((operator === 'gt' || operator === 'lt') && Number.isNaN(asNumber(value))) {
      throw new SettingsError(`${where}: "value" must be a number`);
    }
    return conditionOn(property, makeTest(value));
  });
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
