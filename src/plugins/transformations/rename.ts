import { yesNo, type SettingValues } from '../fields.ts';
import { defineTransformation, SettingsError, wrongSetting } from '../plugin.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { jsonSetting, textSetting, yesSetting } from '../setting-values.ts';
import { locate, propertyPath, readPath, setOwn, writePath, type PropertyPath } from '../property-path.ts';

const replaceExisting = 'Replace it';
const backwards = 'From new to old';

export const rename = defineTransformation({
  slug: 'rename',
  name: 'Rename',
  description: 'Renames events, properties, person properties and group types by tables of old and new names.',
  version: '1.1.0',
  alsoKnownAs: ['Shotgun Process Event App', 'ph-shotgun-processevent-app', 'plugin-ph-shotgun-processevent-app'],
  differences: ['The published one renames the events of one site; here the table is a setting.'],
  fields: [
    {
      key: 'events',
      name: 'Event names',
      type: 'json',
      hint: 'JSON object from old to new: {"Signed Up": "signed up"}',
    },
    {
      key: 'properties',
      name: 'Properties',
      type: 'json',
      hint: 'JSON object from old to new: {"Plan": "plan"}. Nested properties with dots, also $set.plan.',
    },
    {
      key: 'person_properties',
      name: 'Person properties',
      type: 'json',
      hint: 'JSON object from old to new, for the names in $set, $set_once and $unset.',
    },
    {
      key: 'group_types',
      name: 'Group types',
      type: 'json',
      hint: 'JSON object from old to new: {"account": "company"}, in $groups and $group_type. "Remap property values" changes keys.',
    },
    {
      key: 'existing',
      name: 'When the new property already exists',
      type: 'choice',
      choices: ['Leave both', replaceExisting],
      default: 'Leave both',
      hint: 'Replace it: the value under the old name wins.',
    },
    {
      key: 'ignore_case',
      name: 'Ignore upper and lower case of old names',
      ...yesNo('No'),
      hint: 'With Yes, "Plan" also matches "plan" and "PLAN"; nested names with dots must match exactly.',
    },
    {
      key: 'direction',
      name: 'Direction',
      type: 'choice',
      choices: ['From old to new', backwards],
      default: 'From old to new',
      hint: 'From new to old: reverses the same tables.',
    },
  ],
  example: {
    settings: {
      events: '{"Signed Up": "signed up"}',
      properties: '{"Plan Name": "plan"}',
      person_properties: '{"E-Mail": "email"}',
      group_types: '{"account": "company"}',
    },
    before: {
      event: 'Signed Up',
      properties: { 'Plan Name': 'pro', seats: 3, $set: { 'E-Mail': 'ada@example.com' }, $groups: { account: 'a1' } },
    },
    after: {
      event: 'signed up',
      properties: { plan: 'pro', seats: 3, $set: { email: 'ada@example.com' }, $groups: { company: 'a1' } },
    },
  },
  create(settings) {
    const ignoreCase = yesSetting(settings, 'ignore_case');
    const replace = textSetting(settings, 'existing') === replaceExisting;
    const options = { ignoreCase, replace };
    const events = foldedTable(readTable(settings, 'events'), ignoreCase);
    const properties = propertyRenaming(readTable(settings, 'properties'), options);
    const personTable = readTable(settings, 'person_properties');
    const person = personRenaming(personTable, options);
    const groups = groupRenaming(readTable(settings, 'group_types'), options);
    if (events.size === 0 && !properties && !person && !groups) {
      throw new SettingsError(
        'give "events", "properties", "person_properties" or "group_types": an object from old to new',
      );
    }
    return (event) => {
      if (events.size > 0)
        event.event = events.get(ignoreCase ? event.event.toLowerCase() : event.event) ?? event.event;
      properties?.(event.properties);
      person?.(event.properties);
      groups?.(event.properties);
      return event;
    };
  },
});

interface Options {
  readonly ignoreCase: boolean;
  readonly replace: boolean;
}
type Renaming = (properties: JsonObject) => void;

function personRenaming(table: ReadonlyMap<string, string>, options: Options): Renaming | undefined {
  const inside = propertyRenaming(table, options);
  if (inside === undefined) return undefined;
  const names = foldedTable(table, options.ignoreCase);
  return (properties) => {
    renameIn(properties['$set'], inside);
    renameIn(properties['$set_once'], inside);
    const unset = properties['$unset'];
    if (Array.isArray(unset)) properties['$unset'] = unset.map((name) => renamed(name, names, options));
    else renameIn(unset, inside);
  };
}

function groupRenaming(table: ReadonlyMap<string, string>, options: Options): Renaming | undefined {
  const inside = propertyRenaming(table, options);
  if (inside === undefined) return undefined;
  const names = foldedTable(table, options.ignoreCase);
  return (properties) => {
    renameIn(properties['$groups'], inside);
    const type = properties['$group_type'];
    if (type !== undefined) properties['$group_type'] = renamed(type, names, options);
  };
}

function renameIn(holder: JsonValue | undefined, inside: Renaming): void {
  if (isObject(holder)) inside(holder);
}

function renamed(name: JsonValue, names: ReadonlyMap<string, string>, { ignoreCase }: Options): JsonValue {
  return typeof name === 'string' ? (names.get(ignoreCase ? name.toLowerCase() : name) ?? name) : name;
}

function foldedTable(table: ReadonlyMap<string, string>, ignoreCase: boolean): ReadonlyMap<string, string> {
  return ignoreCase ? new Map([...table].map(([from, to]) => [from.toLowerCase(), to])) : table;
}

function readTable(settings: SettingValues, key: string): Map<string, string> {
  const given = jsonSetting(settings, key);
  if (given === undefined) return new Map();
  if (!isObject(given)) throw wrongSetting(key, 'expected a JSON object from old to new names');
  const table = new Map<string, string>();
  for (const [from, to] of Object.entries(given)) {
    if (typeof to !== 'string' || to === '' || from === '') {
      throw wrongSetting(key, `expected a new name for "${from}" as text`);
    }
    table.set(from, to);
  }
  return textSetting(settings, 'direction') === backwards ? reversed(table, key) : table;
}

function reversed(table: ReadonlyMap<string, string>, key: string): Map<string, string> {
  const back = new Map<string, string>();
  for (const [from, to] of table) {
    const other = back.get(to);
    if (other !== undefined) {
      throw wrongSetting(key, `"${other}" and "${from}" both became "${to}"; this cannot be reversed`);
    }
    back.set(to, from);
  }
  return back;
}

interface Entry {
  readonly from: PropertyPath;
  readonly to: PropertyPath;
}

interface Found {
  readonly holder: JsonObject;
  readonly key: string;
  readonly value: JsonValue;
  readonly to: PropertyPath;
}

/** Up to this many names are searched one by one; for more, the event's properties are looked up in the table. */
const lookForMax = 12;

/**
 * Renames properties in place by a table from old to new names, which may be paths. Every old value is removed before a new one is
 * written, so that names can be swapped. Returns `undefined` if the table changes nothing.
 */
function propertyRenaming(
  table: ReadonlyMap<string, string>,
  { ignoreCase, replace }: { readonly ignoreCase: boolean; readonly replace: boolean },
): ((properties: JsonObject) => void) | undefined {
  const entries = [...table]
    .filter(([from, to]) => from !== to)
    .map(([from, to]) => ({ from: propertyPath(from), to: propertyPath(to) }));
  if (entries.length === 0) return undefined;
  const find = ignoreCase || entries.length > lookForMax ? scanning(entries, ignoreCase) : lookingFor(entries);
  return (properties) => {
    const found = find(properties);
    if (found === undefined) return;
    for (const { holder, key } of found) delete holder[key];
    for (const { holder, key, to, value } of found) {
      const taken = !replace && readPath(properties, to) !== undefined;
      if (taken || !writePath(properties, to, value)) setOwn(holder, key, value);
    }
  };
}

function lookingFor(entries: readonly Entry[]): (properties: JsonObject) => Found[] | undefined {
  return (properties) => {
    let found: Found[] | undefined;
    for (const { from, to } of entries) {
      const place = locate(properties, from);
      const value = place?.holder[place.key];
      if (place !== undefined && value !== undefined) (found ??= []).push({ ...place, to, value });
    }
    return found;
  };
}

/** Looks up the event's names in the table; paths that are not names of the event are searched one by one. */
function scanning(entries: readonly Entry[], ignoreCase: boolean): (properties: JsonObject) => Found[] | undefined {
  const byName = new Map(
    entries.map((entry) => [ignoreCase ? entry.from.whole.toLowerCase() : entry.from.whole, entry]),
  );
  const inside = lookingFor(entries.filter(({ from }) => from.parts.length > 1));
  return (properties) => {
    let found: Found[] | undefined;
    for (const key of Object.keys(properties)) {
      const entry = byName.get(ignoreCase ? key.toLowerCase() : key);
      const value = properties[key];
      if (entry === undefined || value === undefined || key === entry.to.whole) continue;
      (found ??= []).push({ holder: properties, key, value, to: entry.to });
    }
    const nested = inside(properties)?.filter(({ holder }) => holder !== properties);
    return nested === undefined ? found : [...(found ?? []), ...nested];
  };
}
