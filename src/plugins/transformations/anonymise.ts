import { hash } from 'node:crypto';
import { yesNo } from '../fields.ts';
import { idProperties, replaceIds } from './properties/replace-ids.ts';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { changeOwnTexts, setOwn } from '../property-path.ts';
import { listSetting, textSetting, yesSetting } from '../setting-values.ts';
import { decodePercent } from './properties/address.ts';

export const anonymise = defineTransformation({
  slug: 'anonymise',
  name: 'Anonymise',
  description: 'Replaces fields by salted hashes, and removes queries and ids from page addresses.',
  alsoKnownAs: [
    'PostHog Anonymization',
    'Anonymization and normalisation',
    'posthog-anonymization',
    'plugin-posthog-anonymization',
  ],
  differences: [
    'An invalid URL is cut at ? or #; the published one fails on it and stores the event unchanged.',
    'Ids that refer to a distinct_id ($anon_distinct_id, alias, $device_id, $user_id) are hashed with it, so that persons ' +
      'still merge.',
    'The address of an app (myapp://host) keeps its scheme and host; the published one writes null in their place.',
    'Lists and objects are hashed as JSON; in the published one all objects have the same hash.',
    "Of the event's own fields only distinct_id can be hashed. Null and empty values stay.",
  ],
  fields: [
    {
      key: 'salt',
      name: 'Salt',
      type: 'string',
      required: true,
      secret: true,
      sent_to: [],
      hint: 'Random text that is hashed with the values; another salt changes the hashes.',
    },
    {
      key: 'privateFields',
      name: 'Fields to anonymise',
      type: 'string',
      default: 'distinct_id,name,userid',
      required: true,
      hint:
        'Comma-separated names of properties; distinct_id means that of the event, and properties with ids of ' +
        'persons ($anon_distinct_id, alias, $device_id, $user_id) are hashed with it.',
    },
    {
      key: 'normalizeUrls',
      name: 'Remove queries and ids from the page address',
      ...yesNo('Yes'),
      hint: 'Applies to $current_url, $set.$current_url and $set_once.$initial_current_url.',
    },
  ],
  example: {
    settings: { salt: '1234567890' },
    before: {
      event: 'visit',
      distinct_id: '105338229',
      properties: { name: 'John Doe', $current_url: 'https://example.com/app#/orders/17-ab?from=mail' },
    },
    after: {
      distinct_id: '83f029dcb4f5e8f260f008d71e770627adb92aa050aae0c005adad81cc57747c',
      properties: {
        name: '473fc460b53fb3c256ca124bea47e5edd337a864ec963c03ed7adcd1402cb3e7',
        $current_url: 'https://example.com/app#/orders/:id',
      },
    },
  },
  create(settings) {
    const salt = textSetting(settings, 'salt');
    if (salt === '') throw wrongSetting('salt', 'expected a random text');
    const names = listSetting(settings, 'privateFields');
    if (names.length === 0) throw wrongSetting('privateFields', 'expected at least one name');
    const hashesId = names.includes('distinct_id');
    const ids = new Set<string>(hashesId ? idProperties : []);
    const plain = names.filter((name) => !ids.has(name));
    const normalises = yesSetting(settings, 'normalizeUrls', 'Yes');
    const hashText = (text: string): string => hash('sha256', text + salt, 'hex');
    return (event) => {
      const { properties } = event;
      if (normalises) {
        changeOwnTexts(properties, ['$current_url'], normalised);
        changeOwnTexts(properties['$set'], ['$current_url'], normalised);
        changeOwnTexts(properties['$set_once'], ['$initial_current_url'], normalised);
      }
      for (const name of plain) {
        const value = Object.hasOwn(properties, name) ? properties[name] : undefined;
        if (value === undefined || value === null || value === '') continue;
        setOwn(properties, name, hashText(typeof value === 'string' ? value : JSON.stringify(value)));
      }
      if (hashesId) replaceIds(event, hashText);
      return event;
    };
  },
});

/** Returns the address without its query; parts of the route behind # that look like an id (a digit, an initial capital) become ':id'. */
function normalised(text: string): string {
  const url = URL.parse(decodePercent(text));
  if (url === null) return text.split(/[?#]/)[0] ?? '';
  const origin = url.origin === 'null' ? `${url.protocol}//${url.host}` : url.origin;
  const route = (url.hash.split('?')[0] ?? '').split('/').map((part) => (/\d|^[A-Z]/.test(part) ? ':id' : part));
  return origin + url.pathname + route.join('/');
}
