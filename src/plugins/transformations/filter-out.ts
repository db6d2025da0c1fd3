import type { Attachment } from '../host.ts';
import { type SettingValues, yesNo } from '../fields.ts';
import { guardedPattern } from './patterns/guarded-pattern.ts';
import { defineTransformation, SettingsError } from '../plugin.ts';
import { isObject, type JsonValue } from '../../base/json.ts';
import {
  allHold,
  comparisons,
  conditionOn,
  conditionOperator,
  conditionProperty,
  type Condition,
  type Operators,
  type Test,
} from '../property-conditions.ts';
import { jsonFile, jsonSetting, listSetting, yesSetting } from '../setting-values.ts';

/** By type and operator; each creates its test once. A value of another type than the filter matches only negated ones. */
const operators: Readonly<Record<string, Operators>> = {
  string: {
    is: (expected) => (value) => value === expected,
    is_not: (expected) => (value) => value !== expected,
    contains: (expected) => (value) => contains(value, expected),
    not_contains: (expected) => (value) => !contains(value, expected),
    regex: (expected) => matches(expected),
    not_regex: (expected) => {
      const test = matches(expected);
      return (value) => !test(value);
    },
  },
  number: {
    gt: comparisons.gt,
    lt: comparisons.lt,
    gte: comparisons.gte,
    lte: comparisons.lte,
    eq: (expected) => (value) => value === expected,
    neq: (expected) => (value) => value !== expected,
  },
  boolean: {
    is: (expected) => (value) => value === expected,
    is_not: (expected) => (value) => value !== expected,
  },
};

export const filterOut = defineTransformation({
  slug: 'filter-out',
  name: 'Filter out',
  description:
    'Keeps the events whose properties match the filters, and drops the others. "Drop events" does the opposite.',
  alsoKnownAs: [
    'Filter Out Plugin',
    'posthog-filter-out-plugin',
    'plugin-posthog-filter-out-plugin',
    'Event Filter',
    'template-event-filter',
  ],
  differences: [
    'A value of another type than the filter expects does not match (but matches not_contains); the published one fails on it ' +
      'and keeps the event.',
    'The filters may also be JSON text. Dots select nested properties.',
  ],
  fields: [
    {
      key: 'filters',
      name: 'Filters to apply, as a file',
      type: 'attachment',
      hint: 'A JSON file as described for the next setting.',
    },
    {
      key: 'filtersJson',
      name: 'Filters to apply',
      type: 'json',
      hint:
        'JSON list of filters, e.g. [{"property": "$host", "type": "string", "operator": "is_not", "value": "localhost"}]. ' +
        'Only events that match all of them are kept; with a list of such lists, those that match any list. ' +
        `Operators: ${Object.entries(operators)
          .map(([type, named]) => `${type}: ${Object.keys(named).join(', ')}`)
          .join('; ')}.`,
    },
    {
      key: 'eventsToDrop',
      name: 'Events to drop',
      type: 'string',
      hint: 'Comma-separated event names, dropped regardless of their properties.',
    },
    {
      key: 'keepUndefinedProperties',
      name: 'Keep events that lack a property of a filter',
      ...yesNo('No'),
      hint: 'Yes: a filter whose property is missing matches. No: it does not.',
    },
  ],
  example: {
    settings: { filtersJson: '[{"property": "$host", "type": "string", "operator": "is_not", "value": "localhost"}]' },
    before: { event: '$pageview', properties: { $host: 'localhost' } },
    after: null,
  },
  create(settings, host) {
    const keepMissing = yesSetting(settings, 'keepUndefinedProperties');
    const groups = readGroups(readFilters(settings, host.attachments.get('filters')), keepMissing);
    const dropped = new Set(listSetting(settings, 'eventsToDrop'));
    if (groups.length === 0 && dropped.size === 0) {
      throw new SettingsError(
        'give filters (a file or "filtersJson") or "eventsToDrop": with neither, nothing would be filtered',
      );
    }
    return (event) => {
      if (dropped.has(event.event)) return null;
      if (groups.length === 0) return event;
      for (const group of groups) if (allHold(group, event.properties)) return event;
      return null;
    };
  },
});

function readFilters(settings: SettingValues, file: Attachment | undefined): JsonValue | undefined {
  const written = jsonSetting(settings, 'filtersJson');
  if (file === undefined || written !== undefined) return written;
  return jsonFile(file, 'filters');
}

/** A flat list is one group, whose filters must all match. */
function readGroups(given: JsonValue | undefined, keepMissing: boolean): Condition[][] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw new SettingsError('the filters: expected a JSON list');
  if (given.length === 0) return [];
  const groups = given.some(Array.isArray) ? given : [given];
  return groups.map((group, index) => {
    if (!Array.isArray(group)) throw new SettingsError(`the filters, group ${index + 1}: expected a list of filters`);
    return group.map((entry) => readFilter(entry, keepMissing));
  });
}

function readFilter(entry: JsonValue, keepMissing: boolean): Condition {
  if (!isObject(entry)) throw new SettingsError('the filters: expected objects with property, type, operator, value');
  const { type, operator, value } = entry;
  const property = conditionProperty('the filters', entry['property']);
  const where = `the filter of "${property}"`;
  const named = typeof type === 'string' && Object.hasOwn(operators, type) ? operators[type] : undefined;
  if (named === undefined) throw new SettingsError(`${where}: "type" must be ${Object.keys(operators).join(', ')}`);
  const make = conditionOperator(where, named, operator);
  if (typeof value !== type) throw new SettingsError(`${where}: "value" must be a ${String(type)}`);
  const test = make(value);
  return conditionOn(property, (found) => (found === undefined ? keepMissing : test(found)));
}

function contains(value: JsonValue | undefined, expected: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.includes(expected ?? null);
  return typeof value === 'string' && value.includes(String(expected));
}

function matches(expected: JsonValue | undefined): Test {
  const pattern = guardedPattern('filters', String(expected));
  return (value) => pattern.test(typeof value === 'object' ? JSON.stringify(value) : String(value));
}
