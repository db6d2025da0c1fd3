import type { NameTable } from '../format.ts';

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
  person_properties: {
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
