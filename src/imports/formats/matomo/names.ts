import type { NameTable } from '../format.ts';

/** Names of action types and of members of visits and actions. */
export const matomoNames: NameTable = {
  events: {
    action: '$pageview',
    'content interaction': 'content interaction',
    goal: null,
  },
  properties: {
    actions: null,
    bandwidth: null,
    browserCode: null,
    browserFamily: null,
    browserName: '$browser',
    browserVersion: '$browser_version',
    city: '$geoip_city_name',
    continent: '$geoip_continent_name',
    continentCode: '$geoip_continent_code',
    country: '$geoip_country_name',
    countryCode: '$geoip_country_code',
    deviceBrand: '$device_manufacturer',
    deviceModel: '$device_model',
    deviceType: '$device_type',
    fingerprint: null,
    firstActionTimestamp: null,
    language: null,
    languageCode: '$browser_language',
    lastActionDateTime: null,
    lastActionTimestamp: null,
    latitude: '$geoip_latitude',
    location: null,
    longitude: '$geoip_longitude',
    operatingSystem: null,
    operatingSystemCode: null,
    operatingSystemName: '$os',
    operatingSystemVersion: '$os_version',
    pageIdAction: null,
    pageTitle: 'title',
    pageviewPosition: null,
    plugins: null,
    referrerUrl: '$referrer',
    region: '$geoip_subdivision_1_name',
    regionCode: '$geoip_subdivision_1_code',
    resolution_height: '$screen_height',
    resolution_width: '$screen_width',
    serverDate: null,
    serverTimestamp: null,
    siteCurrencySymbol: null,
    subtitle: null,
    title: null,
    truncatedActionsCount: null,
    url: '$current_url',
    visitIp: '$ip',
    visitServerHour: null,
    visitorId: '$device_id',
  },
  person_properties: {},
};

/** Types that Matomo writes as a number. */
export const matomoTypes: Readonly<Record<string, string>> = { 13: 'content interaction' };

/** Numeric members, which Matomo often writes as text. */
export const matomoNumbers: ReadonlySet<string> = new Set([
  'daysSinceFirstVisit',
  'daysSinceLastEcommerceOrder',
  'daysSinceLastVisit',
  'eventValue',
  'events',
  'goalConversions',
  'interactions',
  'itemsCount',
  'latitude',
  'longitude',
  'pageLoadTimeMilliseconds',
  'revenue',
  'revenueDiscount',
  'revenueShipping',
  'revenueSubTotal',
  'revenueTax',
  'searches',
  'secondsSinceFirstVisit',
  'secondsSinceLastEcommerceOrder',
  'secondsSinceLastVisit',
  'siteSearchCount',
  'timeSpent',
  'totalAbandonedCarts',
  'totalAbandonedCartsItems',
  'totalAbandonedCartsRevenue',
  'totalEcommerceConversions',
  'totalEcommerceItems',
  'totalEcommerceRevenue',
  'visitConverted',
  'visitCount',
  'visitDuration',
]);

/** Members that only serve Matomo's own presentation of others. */
export function isPresentation(member: string): boolean {
  return presentation.test(member);
}
const presentation = /(Icons?|IconSVG|Pretty|PrettyFirstAction|PrettyDateTime)$|^icon/;
