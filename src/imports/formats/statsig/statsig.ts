import { assumedZone, assumedZoneOption } from '../read-times.ts';
import { unreadable } from '../event-writer.ts';
import { formatByMap } from '../format-by-map.ts';
import type { Format, NameTable, Evidence } from '../format.ts';
import { nameIn, put, timeIn, userOrDevice, uuidIn } from '../map-rules.ts';
import { firstId, objectOf } from '../read-values.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is `timestamp` of the event, which Statsig corrected for the clock of the client.',
    sources: ['https://docs.statsig.com/api-reference/events/log-custom-events'],
  },
  zone: {
    rule: 'Milliseconds since 1970 or ISO 8601. Times without a zone are UTC in warehouse exports; for other exports this is not documented: UTC with a warning, unless the option sets another zone.',
    sources: ['https://docs.statsig.com/statsig-warehouse-native/configuration/query-tools'],
    option: 'time_zone',
  },
  ids: {
    rule: 'Ids are not documented: the uuid is the id of the event or its timeUUID, else it is derived from the content.',
    because: 'Equal events of a file are kept, and importing the same file again changes nothing.',
  },
  links: {
    rule: 'The user is userID, the device deviceID or stableID.',
    sources: ['https://docs.statsig.com/api-reference/events/log-custom-events'],
  },
  counts: {
    rule: 'Only session starts are skipped, by the name table. Statsig forwards only events of the production environment to a warehouse.',
    sources: ['https://docs.statsig.com/en/statsig-warehouse-native/connecting-your-warehouse/forwarded-data'],
  },
};

const slug = 'statsig';

const names: NameTable = {
  events: {
    'auto_capture::click': '$autocapture',
    'auto_capture::page_view': '$pageview',
    'auto_capture::page_view_end': '$pageleave',
    'auto_capture::session_start': null,
  },
  properties: {
    browser_name: '$browser',
    browser_version: '$browser_version',
    country: '$geoip_country_name',
    deviceID: '$device_id',
    deviceType: '$device_type',
    device_id: '$device_id',
    ip: '$ip',
    language: '$browser_language',
    locale: '$locale',
    os: '$os',
    os_version: '$os_version',
    page_url: '$current_url',
    sdk_key: null,
    sessionID: '$session_id',
    session_id: '$session_id',
    userAgent: '$useragent',
    user_agent: '$useragent',
  },
  person_properties: {},
};

const about = {
  slug,
  name: 'Statsig',
  description:
    'Events, one by one or as a page `{"data": [...]}` of the console. metadata, device_metadata and ' +
    'trimmed_data become properties; the value of a page view is its address. distinct_id is the user, else the ' +
    'device (device or stable id). The uuid is the id of the event (`timeUUID` from webhooks) if there is one, ' +
    'else it is derived from the content. A page with one unreadable event is rejected as a whole.',
  source: 'The events of the console API, or a warehouse export with the same members.',
  options: [assumedZoneOption],
  times: { own: ['timestamp'], received: [] },
  evidence,
  names,
  example,
};

export const statsig: Format = formatByMap(about, ({ options, names, writer }) => {
  const { zone, noted, notes } = assumedZone(options);
  const properties = put(names.properties);
  const json = { ...properties, mayBeText: true, mayBeValue: true } as const;
  const nameless = unreadable('expected the name of the event in name or event_name, got neither');
  const event = nameIn(nameMembers, () => nameless, writer);
  const missingId = unreadable('expected userID, user_id, deviceID or device_id, got none');
  return {
    source: slug,
    held: ({ data, name, event_name: eventName }) => {
      if (!Array.isArray(data) || firstId(name, eventName) !== undefined) return undefined;
      const { timestamp } = objectOf(data[0]);
      return { items: data, name: 'data', nothing: 'a page without events', noted: (page) => noted(page, timestamp) };
    },
    event,
    time: timeIn('timestamp', 'timestamp in milliseconds since 1970', zone),
    ids: userOrDevice(['userID', 'user_id'], ['deviceID', 'device_id', 'stableID', 'stable_id'], missingId),
    uuid: uuidIn(slug, ['id', 'timeUUID'], writer),
    order: ['event', 'time', 'names', 'ids'],
    // Values closer to the event take precedence: members of the record over those of the device, its metadata over both.
    properties: [
      { ...json, bag: 'device_metadata' },
      { ...properties, bag: '', without: readApart },
      { ...json, bag: 'trimmed_data' },
      { ...json, bag: 'metadata' },
      {
        of: 'members',
        from: [...nameMembers, 'value'],
        isVaried: true,
        add: (record, target) => {
          writer.put(target, pages.has(event.read(record)) ? 'page_url' : 'value', record['value']);
        },
      },
      ...notes('timestamp'),
    ],
    links: writer.identify,
  };
});

const nameMembers = ['name', 'event_name', 'eventName'];
const pages: ReadonlySet<unknown> = new Set(['auto_capture::page_view', 'auto_capture::page_view_end']);
const readApart: ReadonlySet<string> = new Set(
  `device_metadata event_name eventName id metadata name timeUUID timestamp trimmed_data userID user_id value`.split(
    ' ',
  ),
);
