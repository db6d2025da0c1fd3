import type { Properties } from './read-values.ts';

/**
 * Values as client libraries write them, where sources differ, so that history and live events fall into one row: types
 * of devices, country codes, host and path of the page.
 */
export function settleProperties(properties: Properties): void {
  const deviceType = properties['$device_type'];
  if (typeof deviceType === 'string')
    properties['$device_type'] = deviceTypes.get(deviceType.toLowerCase()) ?? deviceType;
  settleCountry(properties);
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

/** Sources call both the code and the name of a country `country`; two letters are the code. */
function settleCountry(properties: Properties): void {
  const name = properties['$geoip_country_name'];
  if (typeof name === 'string' && name.length === 2) {
    delete properties['$geoip_country_name'];
    properties['$geoip_country_code'] ??= name;
  }
  const code = properties['$geoip_country_code'];
  if (typeof code === 'string') properties['$geoip_country_code'] = code.toUpperCase();
}

function addUrlParts(properties: Properties, url: string): void {
  if (properties['$host'] !== undefined && properties['$pathname'] !== undefined) return;
  const match = pattern.exec(url);
  if (match === null) return;
  properties['$host'] ??= match[1];
  properties['$pathname'] ??= match[2] === '' ? '/' : match[2];
}
const pattern = /^https?:\/\/(?:[^/?#@]*@)?([^/?#@]+)([^?#]*)/i;
