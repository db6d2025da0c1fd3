import { yesNo } from '../fields.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { deletePath, propertyPath, readPath, setOwn, writePath, type PropertyPath } from '../property-path.ts';
import { listSetting, textSetting, yesSetting } from '../setting-values.ts';

const keepOnly = 'Keep only these';

export const filterProperties = defineTransformation({
  slug: 'filter-properties',
  name: 'Filter properties',
  description: 'Removes the listed properties, or all others.',
  version: '1.1.0',
  alsoKnownAs: [
    'Property Filter',
    'posthog-property-filter-plugin',
    'property-filter-plugin',
    'plugin-property-filter-plugin',
    'template-property-filter',
    'template-filter-properties',
  ],
  differences: [
    'Properties are removed; the "Filter Properties" template and the oldest plugin set some of them to null.',
    'A path to a missing property changes nothing; the published one empties the object on the path, or creates one.',
    'A property whose name contains a dot takes precedence over a path, and spaces around commas are ignored.',
    'Names without dots are searched in the event (and optionally in $set and $set_once), not at every depth.',
  ],
  fields: [
    {
      key: 'mode',
      name: 'What to do',
      type: 'choice',
      choices: ['Remove these', keepOnly],
      default: 'Remove these',
      hint: 'With "Keep only these", all others are removed.',
    },
    {
      key: 'properties',
      name: 'Properties',
      type: 'string',
      required: true,
      hint: 'Comma-separated. Nested properties with dots: address.street',
    },
    {
      key: 'events',
      name: 'Only for these events',
      type: 'string',
      hint: 'Comma-separated event names. Empty: all events.',
    },
    {
      key: 'keep_system_properties',
      name: 'Always keep properties that start with $',
      ...yesNo('Yes'),
      hint: 'Only for "Keep only these": persons, groups and sessions use such properties.',
    },
    {
      key: 'includeSetProperties',
      name: 'Remove them from $set too',
      ...yesNo('No'),
      hint: 'Only for "Remove these".',
    },
    {
      key: 'includeSetOnceProperties',
      name: 'Remove them from $set_once too',
      ...yesNo('No'),
      hint: 'Only for "Remove these".',
    },
  ],
  example: {
    settings: { mode: 'Remove these', properties: 'card, address.street' },
    before: { event: 'paid', properties: { card: '4242', amount: 5, address: { street: 'Main St 1', city: 'Bern' } } },
    after: { properties: { amount: 5, address: { city: 'Bern' } } },
  },
  create(settings) {
    const paths = listSetting(settings, 'properties').map(propertyPath);
    if (paths.length === 0) throw wrongSetting('properties', 'expected at least one property');
    const events = new Set(listSetting(settings, 'events'));
    const applies = (name: string): boolean => events.size === 0 || events.has(name);
    if (textSetting(settings, 'mode') !== keepOnly) {
      const inSet = yesSetting(settings, 'includeSetProperties');
      const inSetOnce = yesSetting(settings, 'includeSetOnceProperties');
      return (event) => {
        if (!applies(event.event)) return event;
        for (const path of paths) deletePath(event.properties, path);
        if (inSet) deleteIn(event.properties['$set'], paths);
        if (inSetOnce) deleteIn(event.properties['$set_once'], paths);
        return event;
      };
    }
    const keepSystem = yesSetting(settings, 'keep_system_properties', 'Yes');
    return (event) => {
      if (applies(event.event)) event.properties = kept(event.properties, paths, keepSystem);
      return event;
    };
  },
});

function deleteIn(holder: JsonValue | undefined, paths: readonly PropertyPath[]): void {
  if (isObject(holder)) for (const path of paths) deletePath(holder, path);
}

function kept(properties: JsonObject, paths: readonly PropertyPath[], keepSystem: boolean): JsonObject {
  const result: JsonObject = {};
  if (keepSystem) {
    for (const [key, value] of Object.entries(properties)) if (key.startsWith('$')) setOwn(result, key, value);
  }
  for (const path of paths) {
    const value = readPath(properties, path);
    if (value === undefined) continue;
    if (Object.hasOwn(properties, path.whole)) setOwn(result, path.whole, value);
    else writePath(result, path, value);
  }
  return result;
}
