import { yesNo } from '../fields.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { propertyPath, readPath, replacePath } from '../property-path.ts';
import { listSetting, yesSetting } from '../setting-values.ts';

export const urlNormalizer = defineTransformation({
  slug: 'url-normalizer',
  name: 'URL normalizer',
  description: 'Normalizes page addresses: lower case, no slash at the end of the path.',
  alsoKnownAs: ['URL Normalizer', 'posthog-url-normalizer-plugin'],
  differences: ['Incomplete addresses stay unchanged; the published one throws and the event counts as failed.'],
  fields: [
    {
      key: 'properties',
      name: 'Properties that hold URLs',
      type: 'string',
      default: '$current_url',
      hint: 'Comma-separated. Nested properties with dots: $set_once.$initial_current_url',
    },
    {
      key: 'lower_case',
      name: 'Change to lower case',
      ...yesNo('Yes'),
      hint: 'The whole address, including path and parameters.',
    },
    { key: 'remove_query', name: 'Remove the parameters', ...yesNo('No'), hint: 'Everything after the question mark.' },
    {
      key: 'remove_hash',
      name: 'Remove the part after #',
      ...yesNo('No'),
      hint: 'Keep it if it distinguishes pages.',
    },
  ],
  example: {
    settings: {},
    before: { event: '$pageview', properties: { $current_url: 'https://Example.com/Pricing/?Plan=Pro' } },
    after: { properties: { $current_url: 'https://example.com/pricing?plan=pro' } },
  },
  create(settings) {
    const paths = listSetting(settings, 'properties').map(propertyPath);
    if (paths.length === 0) throw wrongSetting('properties', 'expected at least one property');
    const lowers = yesSetting(settings, 'lower_case', 'Yes');
    const dropsQuery = yesSetting(settings, 'remove_query');
    const dropsHash = yesSetting(settings, 'remove_hash');
    const normalized = (text: string): string | undefined => {
      const url = URL.parse(lowers ? text.toLowerCase() : text);
      if (url === null) return undefined;
      if (url.pathname.endsWith('/')) url.pathname = url.pathname.slice(0, -1);
      if (dropsQuery) url.search = '';
      if (dropsHash) url.hash = '';
      return url.href;
    };
    return (event) => {
      for (const path of paths) {
        const value = readPath(event.properties, path);
        const url = typeof value === 'string' && value !== '' ? normalized(value) : undefined;
        if (url !== undefined) replacePath(event.properties, path, url);
      }
      return event;
    };
  },
});
