import { defineTransformation, wrongSetting } from '../plugin.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { locate, propertyPath, setOwn, type PropertyPath } from '../property-path.ts';
import { jsonSetting, listSetting } from '../setting-values.ts';

export const remapValues = defineTransformation({
  slug: 'remap-values',
  name: 'Remap property values',
  description: 'Replaces values of properties by a table of old and new ones.',
  alsoKnownAs: ['template-remap-property-values'],
  fields: [
    {
      key: 'propertyNames',
      name: 'Properties',
      type: 'string',
      required: true,
      hint: 'Comma-separated. The same names in $set and $set_once count too. Nested properties with dots.',
    },
    {
      key: 'valueMapping',
      name: 'Values',
      type: 'json',
      required: true,
      hint: 'JSON object from old to new: {"grp_a1": "grp_b2"}. Unlisted values stay.',
    },
  ],
  example: {
    settings: { propertyNames: 'plan', valueMapping: '{"gold": "pro", "1": "basic"}' },
    before: { event: 'paid', properties: { plan: 'gold', $set: { plan: 1 } } },
    after: { properties: { plan: 'pro', $set: { plan: 'basic' } } },
  },
  create(settings) {
    const paths = listSetting(settings, 'propertyNames').map(propertyPath);
    if (paths.length === 0) throw wrongSetting('propertyNames', 'expected at least one property');
    const given = jsonSetting(settings, 'valueMapping');
    if (!isObject(given)) throw wrongSetting('valueMapping', 'expected a JSON object from old to new values');
    const values = new Map(Object.entries(given));
    return (event) => {
      const { properties } = event;
      remap(properties, paths, values);
      remap(properties['$set'], paths, values);
      remap(properties['$set_once'], paths, values);
      return event;
    };
  },
});

function remap(
  holder: JsonValue | undefined,
  paths: readonly PropertyPath[],
  values: ReadonlyMap<string, JsonValue>,
): void {
  if (!isObject(holder)) return;
  for (const path of paths) {
    const place = locate(holder, path);
    const old = place === undefined ? undefined : textOf(place.holder, place.key);
    const value = old === undefined ? undefined : values.get(old);
    if (place !== undefined && value !== undefined)
      setOwn(place.holder, place.key, typeof value === 'object' ? structuredClone(value) : value);
  }
}

/** Objects, lists and null cannot be keys of the table. */
function textOf(holder: JsonObject, key: string): string | undefined {
  const value = holder[key];
  return typeof value === 'object' || value === undefined ? undefined : String(value);
}
