import { trueFalse } from '../fields.ts';
import { guardedPattern } from './patterns/guarded-pattern.ts';
import { defineTransformation, wrongSetting, type TransformationPlugin } from '../plugin.ts';
import { changeOwnTexts } from '../property-path.ts';
import { listSetting, textSetting } from '../setting-values.ts';
import { splitAddress } from './properties/address.ts';

/** UUIDs, and at least three capital letters or digits. */
const standardPattern = '^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[A-Z0-9]{3,})$';

export const urlPlaceholders = defineTransformation({
  slug: 'url-placeholders',
  name: 'URL placeholders',
  description: 'Replaces ids in page addresses with :id, so that similar pages share one address.',
  alsoKnownAs: ['URL Normalization', 'template-url-normalization'],
  fields: [
    {
      key: 'urlProperties',
      name: 'Properties that hold URLs',
      type: 'string',
      required: true,
      default: '$current_url, $referrer, $referring_domain',
      hint: 'Comma-separated. The same names in $set and $set_once are changed too.',
    },
    {
      key: 'regex',
      name: 'Pattern of an id',
      type: 'string',
      default: standardPattern,
      hint: 'Regular expression for one part of a path. The default matches UUIDs and three or more capitals and digits.',
    },
    {
      key: 'replaceWith',
      name: 'Replacement',
      type: 'string',
      default: ':id',
      hint: 'Replaces every id.',
    },
    {
      key: 'removeHash',
      name: 'Remove the part after #',
      ...trueFalse('true'),
      hint: 'false: ids in it are replaced as in a path.',
    },
    {
      key: 'removeQueryString',
      name: 'Remove the parameters',
      ...trueFalse('true'),
      hint: 'false: values of parameters that are ids are replaced.',
    },
  ],
  example: {
    settings: {},
    before: { event: '$pageview', properties: { $current_url: 'https://example.com/orders/84219/lines?tab=2#top' } },
    after: { properties: { $current_url: 'https://example.com/orders/:id/lines' } },
  },
  create(settings) {
    const names = listSetting(settings, 'urlProperties');
    if (names.length === 0) throw wrongSetting('urlProperties', 'expected at least one property');
    const replaced = createReplacement(settings);
    return (event) => {
      const { properties } = event;
      for (const holder of [properties, properties['$set'], properties['$set_once']]) {
        changeOwnTexts(holder, names, replaced);
      }
      return event;
    };
  },
});

function createReplacement(settings: Parameters<TransformationPlugin['create']>[0]): (url: string) => string {
  const standard = textSetting(settings, 'regex', standardPattern) === standardPattern;
  const form = standard ? new RegExp(standardPattern) : guardedPattern('regex', textSetting(settings, 'regex'));
  const token = textSetting(settings, 'replaceWith', ':id');
  const keepsHash = textSetting(settings, 'removeHash', 'true') !== 'true';
  const keepsQuery = textSetting(settings, 'removeQueryString', 'true') !== 'true';
  const part = (text: string): string => (text !== '' && form.test(text) ? token : text);
  const path = (text: string): string => text.split('/').map(part).join('/');
  const parameter = (text: string): string => {
    const equals = text.indexOf('=');
    return equals === -1 ? text : `${text.slice(0, equals)}=${part(text.slice(equals + 1))}`;
  };
  const query = (text: string): string => text.split('&').filter(Boolean).map(parameter).join('&');
  return (url) => {
    const { main, query: search = '', hash = '' } = splitAddress(url);
    const split = splitPath(main);
    let result = split.domain + path(split.path);
    if (keepsQuery && search !== '') result += `?${query(search)}`;
    const inHash = keepsHash ? query(path(hash.split('?', 1)[0] ?? '')) : '';
    return inHash === '' ? result : `${result}#${inHash}`;
  };
}

/** Splits `main` before its path; without a scheme everything is `domain`, because host and path are ambiguous. */
function splitPath(main: string): { domain: string; path: string } {
  const authorityAt = main.indexOf('//');
  const pathAt = authorityAt === -1 ? -1 : main.indexOf('/', authorityAt + 2);
  const pathStart = pathAt !== -1 ? pathAt : main.startsWith('/') && authorityAt === -1 ? 0 : main.length;
  return { domain: main.slice(0, pathStart), path: main.slice(pathStart) };
}
