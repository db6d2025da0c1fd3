import type { PluginField } from '../fields.ts';
import { definePlugin, SettingsError, type JsonObject, type TransformationPlugin } from '../plugin.ts';
import { isObject, propertyPath, readPath, setOwn } from '../property-path.ts';
import { listSetting, textSetting, yesSetting } from '../setting-values.ts';

const targets = ['No', 'Latest', 'First', 'Latest and first'] as const;

const fields = [
  {
    key: 'parameters',
    name: 'URL parameters',
    type: 'string',
    required: true,
    hint: 'Comma-separated, e.g. utm_source, gclid, plan',
  },
  {
    key: 'source',
    name: 'Property that holds the URL',
    type: 'string',
    default: '$current_url',
  },
  {
    key: 'prefix',
    name: 'Put before the name',
    type: 'string',
    hint: 'With url_ the parameter plan becomes the property url_plan.',
  },
  {
    key: 'ignore_case',
    name: 'Ignore upper and lower case of parameters',
    type: 'choice',
    choices: ['Yes', 'No'],
    default: 'No',
    hint: 'The property takes the name as you list it.',
  },
  {
    key: 'person',
    name: 'Keep on the person too',
    type: 'choice',
    choices: targets,
    default: 'No',
    hint: 'Latest: under the same name. First: once, under initial_ and the name.',
  },
] as const satisfies readonly PluginField[];

export const urlParameters: TransformationPlugin = definePlugin({
  slug: 'url-parameters',
  kind: 'transformation',
  name: 'URL parameters to properties',
  description: 'Turns parameters of the page address into properties, and on request into person properties.',
  version: '1.0.0',
  fields,
  example: {
    settings: { parameters: 'plan, gclid', prefix: 'url_', person: 'First' },
    before: {
      event: '$pageview',
      distinct_id: 'u1',
      properties: { $current_url: 'https://example.com/buy?plan=pro&x=1' },
    },
    after: {
      event: '$pageview',
      distinct_id: 'u1',
      properties: {
        $current_url: 'https://example.com/buy?plan=pro&x=1',
        url_plan: 'pro',
        $set_once: { initial_url_plan: 'pro' },
      },
    },
  },
  create(settings) {
    const ignoreCase = yesSetting(settings, 'ignore_case');
    const prefix = textSetting(settings, 'prefix');
    const fold = (name: string): string => (ignoreCase ? name.toLowerCase() : name);
    const names = new Map(listSetting(settings, 'parameters').map((name) => [fold(name), prefix + name]));
    if (names.size === 0) throw new SettingsError('setting "parameters": expected at least one parameter');
    const source = propertyPath(textSetting(settings, 'source', '$current_url'));
    const person = textSetting(settings, 'person', 'No');
    const latest = person.startsWith('Latest');
    const first = person.toLowerCase().includes('first');
    return (event) => {
      const url = readPath(event.properties, source);
      const query = typeof url === 'string' ? queryOf(url) : '';
      if (query === '') return event;
      for (const [name, value] of found(query, names, fold)) {
        setOwn(event.properties, name, value);
        if (latest) setOwn(personProperties(event.properties, '$set'), name, value);
        if (first) setOwn(personProperties(event.properties, '$set_once'), `initial_${name}`, value);
      }
      return event;
    };
  },
});

/** Between `?` and `#`; a page address need not be a whole URL. */
function queryOf(url: string): string {
  const hash = url.indexOf('#');
  const address = hash === -1 ? url : url.slice(0, hash);
  const mark = address.indexOf('?');
  return mark === -1 ? '' : address.slice(mark + 1);
}

/** By property name; a parameter that is repeated becomes a list. */
function found(
  query: string,
  names: ReadonlyMap<string, string>,
  fold: (name: string) => string,
): Map<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const [parameter, value] of new URLSearchParams(query)) {
    const name = names.get(fold(parameter));
    if (name === undefined) continue;
    const before = values.get(name);
    if (before === undefined) values.set(name, value);
    else values.set(name, Array.isArray(before) ? [...before, value] : [before, value]);
  }
  return values;
}

function personProperties(properties: JsonObject, key: '$set' | '$set_once'): JsonObject {
  const given = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (isObject(given)) return given;
  const made: JsonObject = {};
  properties[key] = made;
  return made;
}
