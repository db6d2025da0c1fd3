import type { Properties } from './read-values.ts';

/**
 * Values as client libraries write them, where sources differ, so that history and live events fall into one row: types
 * of devices, country codes, host and path of the page.
 */
export function settleProperties(properties: Properties): void {
  settleCountryName(properties);
  for (const [name, settled] of settledTexts) {
    const text = properties[name];
    if (typeof text === 'string') properties[name] = settled(text);
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

/** Texts that are written in another way where they stand. */
export const settledTexts: ReadonlyMap<string, (text: string) => string> = new Map([
  ['$device_type', (text: string) => deviceTypes.get(text.toLowerCase()) ?? text],
  ['$geoip_country_code', (text: string) => text.toUpperCase()],
]);

/** Sources call both the code and the name of a country `country`; two letters are the code. */
function settleCountryName(properties: Properties): void {
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
