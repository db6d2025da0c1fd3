import { isIP, isIPv4, isIPv6 } from 'node:net';
import { defineTransformation, wrongSetting } from '../plugin.ts';
import { changeTexts } from './properties/change-texts.ts';
import { replaceAddresses } from './properties/replace-addresses.ts';
import { locate, propertyPath, setOwn } from '../property-path.ts';
import { listSetting, textSetting } from '../setting-values.ts';

const remove = 'Remove it';

export const ipRemoval = defineTransformation({
  slug: 'ip-removal',
  name: 'IP removal',
  description: 'Shortens the IP address so that it no longer identifies a person, or removes it.',
  alsoKnownAs: ['IP Anonymization', 'template-ip-anonymization'],
  differences: [
    'IPv6 addresses are shortened too, to 48 bits; the published one keeps them whole.',
    'Addresses with a port, in brackets, in texts, lists and objects are shortened as well.',
  ],
  fields: [
    {
      key: 'properties',
      name: 'Properties that hold an address',
      type: 'string',
      default: '$ip',
      hint: 'Comma-separated. Nested properties with dots: $set_once.$initial_ip',
    },
    {
      key: 'method',
      name: 'What happens to the address',
      type: 'choice',
      choices: ['Shorten it', remove],
      default: 'Shorten it',
      hint:
        'Shorten: the last number of an IPv4 address becomes 0; of an IPv6 address the first 48 bits are kept. ' +
        'Transformations that need the address, such as GeoIP, must run before this one.',
    },
  ],
  example: {
    settings: {},
    before: { event: '$pageview', properties: { $ip: '12.214.31.144' } },
    after: { properties: { $ip: '12.214.31.0' } },
  },
  create(settings) {
    const paths = listSetting(settings, 'properties').map(propertyPath);
    if (paths.length === 0) throw wrongSetting('properties', 'expected at least one property');
    const removes = textSetting(settings, 'method') === remove;
    return (event) => {
      for (const path of paths) {
        const place = locate(event.properties, path);
        if (place === undefined) continue;
        const value = place.holder[place.key];
        if (removes) delete place.holder[place.key];
        else if (value !== undefined) setOwn(place.holder, place.key, changeTexts(value, shortenedIn));
      }
      return event;
    };
  },
});

/** Shortens every address in the text: with a port, in brackets, in a list. Other text stays unchanged. */
function shortenedIn(text: string): string {
  return isIP(text) === 0 ? replaceAddresses(text, shortened) : shortened(text);
}

function shortened(address: string): string {
  if (isIPv4(address)) return `${address.slice(0, address.lastIndexOf('.'))}.0`;
  if (!isIPv6(address)) return address;
  // An IPv4 address inside an IPv6 one (::ffff:12.214.31.144) identifies a person.
  if (address.includes('.')) return `${address.slice(0, address.lastIndexOf('.'))}.0`;
  return `${groups48(address).join(':')}::`;
}

/** Returns the first three groups of 16 bits, expanding `::`. */
function groups48(address: string): string[] {
  const [left = '', right] = (address.split('%')[0] ?? '').split('::');
  const first = left === '' ? [] : left.split(':');
  const last = right === undefined || right === '' ? [] : right.split(':');
  const missing = right === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array<string>(missing).fill('0'), ...last].slice(0, 3);
}
