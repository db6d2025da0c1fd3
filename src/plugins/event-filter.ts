import { createMatcher } from '../base/name-pattern.ts';
import { isObject, type JsonObject } from '../base/json.ts';
import type { FieldError } from '../wire/contract/errors.ts';
import { eventFilterKey as key } from '../wire/contract/event-filter.ts';
import type { Family } from '../wire/contract/plugins.ts';
import type { PluginField, SchemaEntry, SettingValues } from './fields.ts';
import { SettingsError, wrongSetting } from './plugin.ts';
import { combineConditions, operatorNames, readConditions } from './property-conditions.ts';
import { jsonSetting } from './setting-values.ts';

/** Tests an event; a transformation only gets those that pass. */
export type EventFilter = (event: { readonly event: string; readonly properties: JsonObject }) => boolean;

/** A setting that every transformation has in addition to its own. */
const eventFilterField: PluginField = {
  key,
  name: 'Only for events',
  type: 'json',
  hint:
    'Other events pass unchanged. {"events": ["$pageview", "order *"], "properties": [{"property": "$host", "operator": "is", ' +
    '"value": ["shop.example"]}]}: names, in which * matches any characters, and conditions, which must all hold, or any of them ' +
    `with "match": "any". Operators: ${operatorNames}. Empty: every event.`,
};

/** Adds the filter to the schema of a transformation. */
export function withEventFilter<Entry extends SchemaEntry>(schema: readonly Entry[]): (Entry | PluginField)[] {
  return [...schema, eventFilterField];
}

/** Returns the stored schema of a plugin with the filter, which built-in ones are stored with. */
export function schemaOf(
  stored: string,
  { families, isBuiltIn }: { readonly families: readonly Family[]; readonly isBuiltIn: boolean },
): SchemaEntry[] {
  const schema = JSON.parse(stored) as SchemaEntry[];
  return !isBuiltIn && families.includes('transformation') ? withEventFilter(schema) : schema;
}

/** Returns the settings that the transformation itself gets. */
export function withoutEventFilter(settings: SettingValues): SettingValues {
  const { [key]: _, ...own } = settings;
  return own;
}

/** Reads the filter of a config; `undefined` if every event passes. @throws SettingsError */
export function readEventFilter(settings: SettingValues): EventFilter | undefined {
  const given = jsonSetting(settings, key);
  if (given === undefined || given === null) return undefined;
  if (!isObject(given)) throw wrongSetting(key, 'expected an object with "events", "properties" or both');
  const { events, properties, match = 'all', ...others } = given;
  const [other] = Object.keys(others);
  if (other !== undefined) throw wrongSetting(key, `expected "events", "properties" and "match", got "${other}"`);
  if (match !== 'all' && match !== 'any') throw wrongSetting(key, '"match" must be "all" or "any"');
  const names = events === undefined ? [] : namesIn(events);
  const conditions = readConditions(`setting "${key}", "properties"`, properties);
  if (names.length === 0 && conditions.length === 0) return undefined;
  const isNamed = names.length === 0 ? () => true : createMatcher(names);
  const meets = combineConditions(conditions, match);
  return (event) => isNamed(event.event) && meets(event.properties);
}

/** Returns the fault of a given filter, if any. */
export function checkEventFilter(settings: SettingValues): FieldError[] {
  try {
    readEventFilter(settings);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return [{ code: 'invalid_input', detail: error.message, attr: `settings.${key}` }];
  }
}

function namesIn(events: unknown): string[] {
  if (Array.isArray(events) && events.every((name) => typeof name === 'string' && name !== '')) return events;
  throw wrongSetting(key, '"events" must be a list of event names');
}
