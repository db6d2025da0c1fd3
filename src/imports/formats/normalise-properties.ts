import type { Properties } from './read-values.ts';

/**
 * Converts values to the form of client libraries where sources differ, so that history and live events have the same values:
 * device types, country codes, host and path of the page.
 */
export function normaliseProperties(properties: Properties): void {
  normaliseCountryName(properties);
  for (const [name, normalised] of normalisedTexts) {
    const text = properties[name];
    if (typeof text === 'string') properties[name] = normalised(text);
  }
  const url = properties['$current_url'];
  if (typeof url === 'string') addUrlParts(properties, url);
}

const deviceTypes = new Map(
  Object.entries({
    desktop: 'Desktop',
    computer: 'Desktop',
    mobile: 'Mobile',
    smartphone: 'Mobile',
    phone: 'Mobile',
    tablet: 'Tablet',
    'game console': 'Console',
    console: 'Console',
    tv: 'TV',
  }),
);

/** Properties whose text is normalised in place. */
export const normalisedTexts: ReadonlyMap<string, (text: string) => string> = new Map([
  ['$device_type', (text: string) => deviceTypes.get(text.toLowerCase()) ?? text],
  ['$geoip_country_code', (text: string) => text.toUpperCase()],
]);

/** Sources use `country` for both code and name; two letters are a code. */
function normaliseCountryName(properties: Properties): void {
  const name = properties['$geoip_country_name'];
  if (typeof name === 'string' && name.length === 2) {
    delete properties['$geoip_country_name'];
    properties['$geoip_country_code'] ??= name;
  }
}

function addUrlParts(properties: Properties, url: string): void {
  if (properties['$host'] !== undefined && properties['$pathname'] !== undefined) return;
  const match = pattern.exec(url);
  if (match === null) return;
  properties['$host'] ??= match[1];
  properties['$pathname'] ??= match[2] === '' ? '/' : match[2];
}
const pattern = /^https?:\/\/(?:[^/?#@]*@)?([^/?#@]+)([^?#]*)/i;
