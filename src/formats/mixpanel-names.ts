import type { NameTable } from './format.ts';

/**
 * Mixpanel's own names in the words of PostHog's client libraries. Of the events only the page view is renamed: PostHog's
 * importer does the same, and an event under another name would be stored beside the one that it brought.
 */
export const mixpanelNames: NameTable = {
  events: { $mp_web_page_view: '$pageview' },
  properties: {
    $app_build_number: '$app_build',
    $app_version_string: '$app_version',
    $carrier: '$network_carrier',
    $city: '$geoip_city_name',
    $geo_source: null,
    $insert_id: null,
    $manufacturer: '$device_manufacturer',
    $model: '$device_model',
    $mp_api_endpoint: null,
    $mp_api_timestamp_ms: null,
    $region: '$geoip_subdivision_1_name',
    $wifi: '$network_wifi',
    current_domain: '$host',
    current_page_title: 'title',
    current_url_path: '$pathname',
    mp_country_code: '$geoip_country_code',
    mp_lib: '$lib',
    mp_processing_time_ms: null,
  },
  personProperties: {
    $avatar: 'avatar',
    $city: '$geoip_city_name',
    $country_code: '$geoip_country_code',
    $email: 'email',
    $first_name: 'first_name',
    $last_name: 'last_name',
    $name: 'name',
    $phone: 'phone',
    $region: '$geoip_subdivision_1_name',
    $timezone: '$geoip_time_zone',
  },
};

/** Properties of an event, under their new names, that say something about the person now. */
export const setFromEvent: readonly string[] = [
  '$browser',
  '$browser_version',
  '$os',
  '$os_version',
  '$device',
  '$device_type',
  '$current_url',
  '$referrer',
  '$referring_domain',
  '$geoip_city_name',
  '$geoip_subdivision_1_name',
  '$geoip_country_code',
  '$geoip_country_name',
];

/** The same for how the person first came. */
export const setOnceFromEvent: readonly string[] = [
  '$initial_referrer',
  '$initial_referring_domain',
  '$initial_utm_source',
  '$initial_utm_medium',
  '$initial_utm_campaign',
  '$initial_utm_content',
  '$initial_utm_term',
];
