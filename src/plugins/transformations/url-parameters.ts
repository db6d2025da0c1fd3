import { type SettingValues, trueFalse } from '../fields.ts';
import { writeWithPerson } from './properties/person-properties.ts';
import { defineTransformation, SettingsError, wrongSetting } from '../plugin.ts';
import { isObject } from '../../base/json.ts';
import { propertyPath, readPath } from '../property-path.ts';
import { jsonSetting, listSetting, textSetting } from '../setting-values.ts';
import { splitAddress } from './properties/address.ts';

export const urlParameters = defineTransformation({
  slug: 'url-parameters',
  name: 'URL parameters to properties',
  description: 'Turns parameters of the page address into properties, and optionally into person properties.',
  version: '1.1.0',
  alsoKnownAs: [
    'URL parameters to event properties',
    'posthog-app-url-parameters-to-event-properties',
    'plugin-posthog-app-url-parameters-to-event-properties',
    'template-url-parameters-to-properties',
  ],
  differences: ['Invalid URLs are parsed as far as possible; the published one fails on them.'],
  fields: [
    {
      key: 'parameters',
      name: 'URL parameters',
      type: 'string',
      hint: 'Comma-separated, e.g. utm_source, gclid, plan',
    },
    {
      key: 'customNames',
      name: 'Custom names',
      type: 'json',
      hint: 'JSON object from parameter to property: {"fid": "follower_id"}. Without prefix and suffix.',
    },
    {
      key: 'prefix',
      name: 'Prefix',
      type: 'string',
      hint: 'With url_ the parameter plan becomes the property url_plan.',
    },
    {
      key: 'suffix',
      name: 'Suffix',
      type: 'string',
      hint: 'With _param the parameter plan becomes the property plan_param.',
    },
    {
      key: 'ignoreCase',
      name: 'Ignore upper and lower case of parameters',
      ...trueFalse('false'),
      hint: 'The property is named as listed.',
    },
    {
      key: 'setAsUserProperties',
      name: 'Keep the latest on the person',
      ...trueFalse('false'),
      hint: 'In $set, under the same name.',
    },
    {
      key: 'setAsInitialUserProperties',
      name: 'Keep the first on the person',
      ...trueFalse('false'),
      hint: 'In $set_once, with the prefix initial_.',
    },
    {
      key: 'alwaysJson',
      name: 'Always write JSON',
      ...trueFalse('false'),
      hint: 'true: each value is the text of a JSON list. false: only for repeated parameters.',
    },
    {
      key: 'source',
      name: 'Property that holds the URL',
      type: 'string',
      default: '$current_url',
      hint: 'The part after ? is parsed; the address need not be complete. Nested properties with dots.',
    },
  ],
  example: {
    settings: { parameters: 'plan, gclid', prefix: 'url_', setAsInitialUserProperties: 'true' },
    before: { event: '$pageview', properties: { $current_url: 'https://example.com/buy?plan=pro&x=1' } },
    after: {
      properties: {
        $current_url: 'https://example.com/buy?plan=pro&x=1',
        url_plan: 'pro',
        $set_once: { initial_url_plan: 'pro' },
      },
    },
  },
  create(settings) {
    const ignoreCase = isTrue(settings, 'ignoreCase');
    const names = readNames(settings, ignoreCase);
    const source = propertyPath(textSetting(settings, 'source', '$current_url'));
    const latest = isTrue(settings, 'setAsUserProperties');
    const first = isTrue(settings, 'setAsInitialUserProperties');
    const alwaysJson = isTrue(settings, 'alwaysJson');
    return (event) => {
      const url = readPath(event.properties, source);
      const query = typeof url === 'string' ? (splitAddress(url).query ?? '') : '';
      const values = query === '' ? undefined : found(query, names, ignoreCase);
      if (values === undefined) return event;
      for (const [name, all] of values) {
        const value = all.length === 1 && !alwaysJson ? (all[0] ?? '') : JSON.stringify(all);
        writeWithPerson(event.properties, name, value, { latest, first });
      }
      return event;
    };
  },
});

function isTrue(settings: SettingValues, key: string): boolean {
  return textSetting(settings, key, 'false') === 'true';
}

/** From parameter to property. */
function readNames(settings: SettingValues, ignoreCase: boolean): Map<string, string> {
  const fold = (name: string): string => (ignoreCase ? name.toLowerCase() : name);
  const prefix = textSetting(settings, 'prefix');
  const suffix = textSetting(settings, 'suffix');
  const names = new Map(listSetting(settings, 'parameters').map((name) => [fold(name), prefix + name + suffix]));
  const custom = jsonSetting(settings, 'customNames') ?? {};
  if (!isObject(custom)) throw wrongSetting('customNames', 'expected a JSON object from parameter to property');
  for (const [parameter, property] of Object.entries(custom)) {
    if (typeof property !== 'string' || property === '' || parameter.trim() === '') {
      throw wrongSetting('customNames', `expected the name of a property for "${parameter}"`);
    }
    names.set(fold(parameter.trim()), property);
  }
  if (names.size === 0) throw new SettingsError('give "parameters" or "customNames": expected at least one parameter');
  return names;
}

/** Returns values by property name, or `undefined` without any. */
function found(
  query: string,
  names: ReadonlyMap<string, string>,
  ignoreCase: boolean,
): Map<string, string[]> | undefined {
  let values: Map<string, string[]> | undefined;
  for (const [parameter, value] of new URLSearchParams(query)) {
    const name = names.get(ignoreCase ? parameter.toLowerCase() : parameter);
    if (name === undefined) continue;
    const before = (values ??= new Map<string, string[]>()).get(name);
    if (before === undefined) values.set(name, [value]);
    else before.push(value);
  }
  return values;
}
