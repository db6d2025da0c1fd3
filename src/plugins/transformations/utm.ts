import { yesNo } from '../fields.ts';
import { writeWithPerson } from './properties/person-properties.ts';
import { defineTransformation, wrongSetting, type TransformationPlugin } from '../plugin.ts';
import { isObject, type JsonObject } from '../../base/json.ts';
import { propertyPath, readPath, replacePath } from '../property-path.ts';
import { jsonSetting, listSetting, textSetting, yesSetting } from '../setting-values.ts';
import { splitAddress } from './properties/address.ts';

const standardParameters =
  'utm_source, utm_medium, utm_campaign, utm_content, utm_term, gclid, gad_source, dclid, gbraid, wbraid, fbclid, ' +
  'msclkid, twclid, li_fat_id, igshid, ttclid, rdt_cid, epik, mc_cid';

export const utm = defineTransformation({
  slug: 'utm',
  name: 'UTM',
  description: 'Turns campaign parameters of the page address into properties of event and person, and cleans them.',
  alsoKnownAs: ['UTM extractor', 'Stonly UTM Extractor', 'plugin-stonly-UTM-Extractor'],
  differences: [
    'Parameters and properties are settings; the published ones use the names of one site.',
    'Parameters of incomplete addresses are parsed too; the published one throws.',
  ],
  fields: [
    {
      key: 'parameters',
      name: 'Campaign parameters',
      type: 'string',
      default: standardParameters,
      hint: 'Comma-separated. Each becomes a property of the same name.',
    },
    {
      key: 'sources',
      name: 'Properties that hold URLs',
      type: 'string',
      default: '$current_url, current_url',
      hint: 'Comma-separated, nested with dots. The first with any of the parameters is used.',
    },
    {
      key: 'replace',
      name: 'Replace existing properties',
      ...yesNo('No'),
      hint: 'No: values sent by client libraries take precedence.',
    },
    {
      key: 'lower_case',
      name: 'Change values of utm_ parameters to lower case',
      ...yesNo('No'),
      hint: 'Newsletter and newsletter become one. Click ids keep their case.',
    },
    {
      key: 'values',
      name: 'Clean values',
      type: 'json',
      hint: 'JSON object from parameter to an object from old to new value: {"utm_source": {"fb": "facebook"}}',
    },
    {
      key: 'clean_url',
      name: 'Remove the parameters from the URL',
      ...yesNo('No'),
      hint: 'So that a page has the same address for all campaigns.',
    },
    {
      key: 'person',
      name: 'Keep on the person too',
      ...yesNo('Yes'),
      hint: 'The latest under the same names, the first ones with the prefix initial_.',
    },
  ],
  example: {
    settings: { lower_case: 'Yes', clean_url: 'Yes' },
    before: { event: '$pageview', properties: { $current_url: 'https://example.com/?utm_source=News&page=2' } },
    after: {
      properties: {
        $current_url: 'https://example.com/?page=2',
        utm_source: 'news',
        $set: { utm_source: 'news' },
        $set_once: { initial_utm_source: 'news' },
      },
    },
  },
  create(settings) {
    const names = new Set(listSetting(settings, 'parameters'));
    if (names.size === 0) throw wrongSetting('parameters', 'expected at least one parameter');
    const sources = listSetting(settings, 'sources').map(propertyPath);
    const clean = createCleaning(settings);
    const replaces = yesSetting(settings, 'replace');
    const cleansUrl = yesSetting(settings, 'clean_url');
    const person = yesSetting(settings, 'person', 'Yes');
    return (event) => {
      const { properties } = event;
      let found: ReadonlyMap<string, string> | undefined;
      for (const source of sources) {
        const url = readPath(properties, source);
        if (typeof url !== 'string' || !url.includes('?')) continue;
        const split = splitUrl(url, names);
        if (split === undefined) continue;
        found ??= split.found;
        if (cleansUrl) replacePath(properties, source, split.rest);
        else break;
      }
      if (found !== undefined) write(properties, found, { clean, replaces, person });
      return event;
    };
  },
});

interface Writing {
  readonly clean: (name: string, value: string) => string;
  readonly replaces: boolean;
  readonly person: boolean;
}

function write(properties: JsonObject, found: ReadonlyMap<string, string>, how: Writing): void {
  for (const [name, raw] of found) {
    const there = Object.hasOwn(properties, name) && Boolean(properties[name]);
    if (there && !how.replaces) continue;
    const value = how.clean(name, raw);
    writeWithPerson(properties, name, value, { latest: how.person, first: how.person });
  }
}

/** Returns the parameters with values (the first of repeated ones) and the address without them; `undefined` if it has none of them. */
function splitUrl(
  url: string,
  names: ReadonlySet<string>,
): { found: ReadonlyMap<string, string>; rest: string } | undefined {
  const { main, query, hash } = splitAddress(url);
  if (query === undefined) return undefined;
  const found = new Map<string, string>();
  const others: string[] = [];
  for (const part of query.split('&')) {
    const equals = part.indexOf('=');
    const name = equals === -1 ? part : part.slice(0, equals);
    if (!names.has(name)) {
      others.push(part);
      continue;
    }
    const value = equals === -1 ? '' : (new URLSearchParams(part).get(name) ?? '');
    if (!found.has(name)) found.set(name, value);
  }
  for (const [name, value] of found) if (value === '') found.delete(name);
  if (found.size === 0) return undefined;
  const rest = others.length === 0 ? '' : `?${others.join('&')}`;
  return { found, rest: main + rest + (hash === undefined ? '' : `#${hash}`) };
}

function createCleaning(settings: Parameters<TransformationPlugin['create']>[0]): Writing['clean'] {
  const lowers = textSetting(settings, 'lower_case', 'No') === 'Yes';
  const given = jsonSetting(settings, 'values') ?? {};
  const expected = 'expected a JSON object from parameter to an object from old to new value';
  if (!isObject(given)) throw wrongSetting('values', expected);
  const tables = new Map(
    Object.entries(given).map(([name, table]) => {
      if (!isObject(table)) throw wrongSetting('values', expected);
      const pairs = Object.entries(table).map(([from, to]): [string, string] => {
        if (typeof to !== 'string') throw wrongSetting('values', expected);
        return [lowers ? from.toLowerCase() : from, to];
      });
      return [name, new Map(pairs)] as const;
    }),
  );
  return (name, value) => {
    const cased = lowers && name.startsWith('utm_') ? value.toLowerCase() : value;
    return tables.get(name)?.get(cased) ?? cased;
  };
}
