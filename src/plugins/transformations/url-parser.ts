import { defineTransformation } from '../plugin.ts';
import { propertyPath, readPath, setOwn } from '../property-path.ts';
import { textSetting } from '../setting-values.ts';

export const urlParser = defineTransformation({
  slug: 'url-parser',
  name: 'URL parser',
  description: 'Turns every parameter of the page address into a property.',
  alsoKnownAs: ['URL params parser', 'url-parser'],
  fields: [
    {
      key: 'source',
      name: 'Property that holds the URL',
      type: 'string',
      default: '$current_url',
      hint: 'Nested properties with dots. Incomplete addresses have no parameters.',
    },
    {
      key: 'prefix',
      name: 'Prefix of the name',
      type: 'string',
      default: 'url_',
      hint: 'With url_ the parameter plan becomes the property url_plan.',
    },
  ],
  example: {
    settings: {},
    before: { event: '$pageview', properties: { $current_url: 'https://example.com/?plan=pro&seats=3' } },
    after: { properties: { $current_url: 'https://example.com/?plan=pro&seats=3', url_plan: 'pro', url_seats: '3' } },
  },
  create(settings) {
    const source = propertyPath(textSetting(settings, 'source', '$current_url'));
    const prefix = textSetting(settings, 'prefix', 'url_');
    return (event) => {
      const text = readPath(event.properties, source);
      if (typeof text !== 'string' || !text.includes('?')) return event;
      const url = URL.parse(text);
      if (url === null) return event;
      // A repeated parameter keeps its last value.
      for (const [name, value] of url.searchParams) setOwn(event.properties, prefix + name, value);
      return event;
    };
  },
});
