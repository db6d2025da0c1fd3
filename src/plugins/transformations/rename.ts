import type { PluginField, SettingValues } from '../fields.ts';
import { definePlugin, SettingsError, type JsonObject, type TransformationPlugin } from '../plugin.ts';
import { isObject, locate, propertyPath, readPath, setOwn, writePath, type PropertyPath } from '../property-path.ts';
import { jsonSetting, textSetting } from '../setting-values.ts';

const replaceExisting = 'Replace it';

const fields = [
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
    hint: 'JSON object from old to new: {"Plan": "plan"}. Nested properties with dots.',
  },
  {
    key: 'existing',
    name: 'When the new property is there already',
    type: 'choice',
    choices: ['Leave both', replaceExisting],
    default: 'Leave both',
  },
] as const satisfies readonly PluginField[];

export const rename: TransformationPlugin = definePlugin({
  slug: 'rename',
  kind: 'transformation',
  name: 'Rename',
  description: 'Gives events and properties other names, by a table of old and new ones.',
  version: '1.0.0',
  fields,
  example: {
    settings: { events: '{"Signed Up": "signed up"}', properties: '{"Plan Name": "plan"}' },
    before: { event: 'Signed Up', distinct_id: 'u1', properties: { 'Plan Name': 'pro', seats: 3 } },
    after: { event: 'signed up', distinct_id: 'u1', properties: { plan: 'pro', seats: 3 } },
  },
  create(settings) {
    const events = readTable(settings, 'events');
    const paths = [...readTable(settings, 'properties')]
      .filter(([from, to]) => from !== to)
      .map(([from, to]) => ({ from: propertyPath(from), to: propertyPath(to) }));
    if (events.size === 0 && paths.length === 0) {
      throw new SettingsError('give "events" or "properties": a JSON object from old to new names');
    }
    const replace = textSetting(settings, 'existing') === replaceExisting;
    return (event) => {
      event.event = events.get(event.event) ?? event.event;
      renameProperties(event.properties, paths, replace);
      return event;
    };
  },
});

/** Takes every old value out before it writes a new one, so that names can be swapped. */
function renameProperties(
  properties: JsonObject,
  paths: readonly { from: PropertyPath; to: PropertyPath }[],
  replace: boolean,
): void {
  const found = paths.flatMap(({ from, to }) => {
    const place = locate(properties, from);
    const value = place?.holder[place.key];
    return place === undefined || value === undefined ? [] : [{ ...place, to, value }];
  });
  for (const { holder, key } of found) delete holder[key];
  for (const { holder, key, to, value } of found) {
    const taken = !replace && readPath(properties, to) !== undefined;
    if (taken || !writePath(properties, to, value)) setOwn(holder, key, value);
  }
}

function readTable(settings: SettingValues, key: string): Map<string, string> {
  const given = jsonSetting(settings, key);
  if (given === undefined) return new Map();
  if (!isObject(given)) throw new SettingsError(`setting "${key}": expected a JSON object from old to new names`);
  return new Map(
    Object.entries(given).map(([from, to]) => {
      if (typeof to === 'string' && to !== '' && from !== '') return [from, to];
      throw new SettingsError(`setting "${key}": expected a new name for "${from}" as text`);
    }),
  );
}
