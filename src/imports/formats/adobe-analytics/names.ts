import type { NameTable } from '../format.ts';

/** Kinds of hits and columns of the feed, these without `post_`. */
export const adobeNames: NameTable = {
  events: { page_view: '$pageview', screen_view: '$screen' },
  properties: {
    accept_language: '$browser_language',
    browser_height: '$viewport_height',
    browser_width: '$viewport_width',
    code_ver: '$lib_version',
    daily_visitor: null,
    geo_city: '$geoip_city_name',
    geo_zip: '$geoip_postal_code',
    hourly_visitor: null,
    ip: '$ip',
    ip2: null,
    mobileappid: '$app_name',
    mobiledevice: '$device_model',
    mobileosversion: '$os_version',
    monthly_visitor: null,
    page_url: '$current_url',
    quarterly_visitor: null,
    ref_domain: '$referring_domain',
    referrer: '$referrer',
    stats_server: null,
    user_agent: '$useragent',
    user_hash: null,
    user_server: null,
    userid: null,
    weekly_visitor: null,
    yearly_visitor: null,
  },
  person_properties: {},
};
