import type { Format, NameTable, Evidence } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { amplitudeMap } from './map.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is event_time, else client_event_time, else server_received_time. The range of an export refers to server_upload_time, so events of one day may be in the export of another.',
    sources: ['https://amplitude.com/docs/apis/analytics/export'],
  },
  zone: {
    rule: 'Times in the export are UTC.',
    sources: ['https://amplitude.com/docs/apis/analytics/export'],
  },
  ids: {
    rule: 'The uuid is the one in the export, so an event exported twice, e.g. by a warehouse backfill, is stored once.',
    sources: [
      'https://amplitude.com/docs/apis/analytics/export',
      'https://amplitude.com/docs/data/destination-catalog/google-bigquery',
    ],
  },
  links: {
    rule: "user_id is the user, device_id the device, amplitude_id Amplitude's number for the person; the option sets whether they are linked.",
    sources: ['https://amplitude.com/docs/en/analytics/charts/other-charts/other-charts-amplitude-sql-schema'],
    option: 'identify',
  },
  counts: {
    rule: 'Nothing is skipped. sample_rate is reported as incomplete; Amplitude rejects an export of more than 4 GB with an error instead of truncating it.',
    sources: ['https://amplitude.com/docs/apis/analytics/export'],
  },
};

/** Columns that describe the export, not the event. */
const bookkeeping = ['$insert_id', '$insert_key', '$schema', 'amplitude_event_type', 'app', 'client_event_time']
  .concat(['client_upload_time', 'data', 'data_type', 'event_time', 'processed_time', 'sample_rate'])
  .concat(['server_received_time', 'server_upload_time', 'uuid']);

/** Properties of a person's first visit: `initial_x` of Amplitude becomes `$initial_x`. */
const initial = ['referrer', 'referring_domain', 'utm_source', 'utm_medium', 'utm_campaign', 'utm_content', 'utm_term']
  .concat(['gclid', 'gclsrc', 'dclid', 'gbraid', 'wbraid', 'fbclid', 'msclkid', 'twclid', 'ttclid', 'li_fat_id'])
  .concat(['igshid', 'rdt_cid', 'epik', 'qclid', 'sccid']);

/** `column:x` is the column x of the export, as opposed to a property x of the event. */
const amplitudeNames: NameTable = {
  events: {
    $groupidentify: null,
    $identify: '$set',
    '[Amplitude] Element Changed': '$autocapture',
    '[Amplitude] Element Clicked': '$autocapture',
    '[Amplitude] Page Viewed': '$pageview',
    session_end: null,
    session_start: null,
  },
  properties: {
    '[Amplitude] Element Text': '$el_text',
    '[Amplitude] Page Domain': '$host',
    '[Amplitude] Page Location': '$current_url',
    '[Amplitude] Page Path': '$pathname',
    '[Amplitude] Page Title': 'title',
    '[Amplitude] Page URL': '$current_url',
    '[Amplitude] Viewport Height': '$viewport_height',
    '[Amplitude] Viewport Width': '$viewport_width',
    referrer: '$referrer',
    referring_domain: '$referring_domain',
    'column:city': '$geoip_city_name',
    'column:country': '$geoip_country_name',
    'column:device_carrier': '$network_carrier',
    'column:device_manufacturer': '$device_manufacturer',
    'column:device_model': '$device_model',
    'column:event_id': '$amplitude_event_id',
    'column:ip_address': '$ip',
    'column:library': '$lib',
    'column:location_lat': '$geoip_latitude',
    'column:location_lng': '$geoip_longitude',
    'column:region': '$geoip_subdivision_1_name',
    'column:session_id': '$amplitude_session_id',
    'column:user_id': '$amplitude_user_id',
    'column:version_name': '$app_version',
    ...Object.fromEntries(bookkeeping.map((name) => [`column:${name}`, null])),
  },
  person_properties: Object.fromEntries(initial.map((name) => [`initial_${name}`, `$initial_${name}`])),
};

const about = {
  slug: 'amplitude',
  name: 'Amplitude',
  description:
    'Events of the export with all properties of event, user and groups. distinct_id is user_id, else device_id, else ' +
    'amplitude_id; the uuid is the one in the export. Sessions keep their start in `$session_id`. Of the operations in user_properties, $set, $setOnce and $unset are applied; ' +
    'others depend on the previous value and are reported by the check. In the name table, ' +
    '`column:x` is the column x of the export.',
  source:
    'The Export API (`/api/2/export`): a zip of gzipped files with one JSON object per line. Or the event table of a ' +
    'warehouse, as filled by Amplitude, Fivetran and other loaders.',
  options: [
    {
      key: 'identify',
      label: 'Link devices to users',
      description: 'Whether `$identify` links each device to its user',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'user_properties',
      label: 'Import user properties',
      description: 'Whether every event sets the user properties at its time in `$set`',
      default: 'yes',
      choices: ['yes', 'no'],
    },
  ],
  times: {
    own: ['event_time', 'client_event_time', 'server_received_time'],
    received: ['server_received_time', 'server_upload_time'],
  },
  evidence,
  names: amplitudeNames,
  example,
};

export const amplitude: Format = formatByMap(about, ({ options, names, writer, memory }) =>
  amplitudeMap({
    writer,
    links: memory.links,
    names,
    identify: options['identify'] === 'yes',
    setsPerson: options['user_properties'] === 'yes',
  }),
);
