import {
  conditionOperators,
  eventFilterKey,
  type ConditionOperator,
} from '../../../../src/wire/contract/event-filter.ts';
import { isJsonObject } from '../../components/json-value.ts';
import type { SettingValues } from '../../components/schema-values.ts';

/** The filter of a transformation, as the form shows it. Incomplete conditions are kept while they are typed. */
export interface EventFilter {
  /** Names or patterns with `*`. */
  readonly events: readonly string[];
  readonly properties: readonly FilterCondition[];
  readonly match: 'all' | 'any';
}

export interface FilterCondition {
  readonly property: string;
  readonly operator: ConditionOperator;
  /** Empty for operators without a value. */
  readonly value: string;
}

const operatorLabels: Readonly<Record<ConditionOperator, string>> = {
  is: 'is',
  is_not: 'is not',
  contains: 'contains',
  not_contains: 'does not contain',
  gt: '>',
  lt: '<',
  is_set: 'is set',
  is_not_set: 'is not set',
};
export const operatorChoices = conditionOperators.map((value) => ({ value, label: operatorLabels[value] }));

export function needsValue(operator: ConditionOperator): boolean {
  return operator !== 'is_set' && operator !== 'is_not_set';
}

const everyEvent: EventFilter = { events: [], properties: [], match: 'all' };

/** Returns the filter among settings; `undefined` for one that the form cannot show, such as a list of values. */
export function filterIn(values: SettingValues): EventFilter | undefined {
  const value = values[eventFilterKey];
  if (value === undefined || value === null || value === '') return everyEvent;
  if (!isJsonObject(value)) return undefined;
  const { events = [], properties = [], match = 'all', ...others } = value;
  const isForm = Array.isArray(events) && Array.isArray(properties) && Object.keys(others).length === 0;
  if (!isForm || !events.every((name) => typeof name === 'string') || (match !== 'all' && match !== 'any')) {
    return undefined;
  }
  const conditions = properties.map(conditionOf).filter((each) => each !== undefined);
  return conditions.length === properties.length ? { events, properties: conditions, match } : undefined;
}

function conditionOf(given: unknown): FilterCondition | undefined {
  if (!isJsonObject(given)) return undefined;
  const { property, operator = 'is', value = '' } = given;
  const known = conditionOperators.find((each) => each === operator);
  const isScalar = ['string', 'number', 'boolean'].includes(typeof value);
  if (typeof property !== 'string' || known === undefined || !isScalar) return undefined;
  return { property, operator: known, value: String(value) };
}

/** Returns the setting; empty if every event passes. */
export function filterSetting({ events, properties, match }: EventFilter): unknown {
  if (events.length === 0 && properties.length === 0) return '';
  const conditions = properties.map(({ property, operator, value }) => ({
    property,
    operator,
    ...(needsValue(operator) && { value }),
  }));
  return {
    ...(events.length > 0 && { events }),
    ...(conditions.length > 0 && { properties: conditions }),
    ...(match === 'any' && { match }),
  };
}

/** Describes a filter in a few words: `order *, $pageview · plan is pro`; empty if every event passes. */
export function filterSummary(values: SettingValues): string {
  const filter = filterIn(values);
  if (filter === undefined) return 'some events';
  const conditions = filter.properties.map(({ property, operator, value }) =>
    [property, operatorLabels[operator], ...(needsValue(operator) ? [value] : [])].join(' '),
  );
  const joined = conditions.join(filter.match === 'any' ? ' or ' : ' and ');
  return [filter.events.join(', '), joined].filter((part) => part !== '').join(' · ');
}
