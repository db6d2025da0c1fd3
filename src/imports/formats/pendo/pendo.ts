import { unreadable, type NoEvents } from '../event-writer.ts';
import type { Format, NameTable, Evidence } from '../format.ts';
import { formatByMap } from '../format-by-map.ts';
import { nameIn, put, timeIn, uuidIn } from '../map-rules.ts';
import { personId, asNumber, idOf, kindOf, type Json } from '../read-values.ts';
import type { Identity } from '../record-map.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is browserTimestamp.',
    sources: ['https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions'],
  },
  zone: {
    rule: 'All dates and times are UTC.',
    sources: ['https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions'],
  },
  ids: {
    rule: 'The uuid is eventId if it is a UUID, else it is derived from eventId, visitor, time, type and element.',
    sources: ['https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions'],
  },
  links: {
    rule: 'visitorId is the visitor, oldVisitorId its previous anonymous id, accountId the account.',
    sources: ['https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions'],
  },
  counts: {
    rule: 'The export of all events includes the tagged ones: import only that one. Pendo exports a day again about nine days later, when it is final: a repeated event is stored once.',
    sources: [
      'https://support.pendo.io/hc/en-us/articles/14121317891355-Data-Sync-schema-definitions',
      'https://support.pendo.io/hc/en-us/articles/14617105854875-Data-Sync-event-export-handling',
    ],
  },
};

const slug = 'pendo';

const names: NameTable = {
  events: {
    change: '$autocapture',
    click: '$autocapture',
    focus: '$autocapture',
    load: '$pageview',
    pollResponse: 'survey sent',
  },
  properties: {
    browser: '$browser',
    country: '$geoip_country_name',
    eventType: '$event_type',
    language: '$browser_language',
    latitude: '$geoip_latitude',
    longitude: '$geoip_longitude',
    pollId: '$survey_id',
    pollResponse: '$survey_response',
    region: '$geoip_subdivision_1_name',
    remoteIp: '$ip',
    url: '$current_url',
    userAgent: '$useragent',
  },
  person_properties: {},
};

const about = {
  slug,
  name: 'Pendo',
  description:
    'Event rows of Data Sync. The event name is eventType; click, change and focus are kept ' +
    'in `$event_type`. distinct_id is visitorId; oldVisitorId, the previous anonymous id, is linked to it. ' +
    'accountId becomes a group. propertiesJson is flattened; elementPath stays. The uuid is eventId ' +
    'if that is a UUID, else it is derived from eventId, visitor, time, type and element, and in rows without ' +
    'eventId from the content.',
  source:
    'The events of Data Sync (`allevents.avro`), or the warehouse table loaded from them, as Parquet or JSON lines.',
  options: [
    {
      key: 'group_type',
      label: 'Group type',
      description: 'Type of the groups that accounts become.',
      default: 'account',
    },
  ],
  times: { own: ['browserTimestamp'], received: [] },
  evidence,
  names,
  example,
};

export const pendo: Format = formatByMap(about, ({ options, names, writer }) => {
  const groupType = options['group_type'] || 'account';
  const properties = put(names.properties);
  return {
    source: slug,
    event: nameIn(['eventType'], ({ eventType }) => unreadable(`expected eventType, got ${kindOf(eventType)}`), writer),
    time: timeIn('browserTimestamp', 'browserTimestamp in milliseconds since 1970'),
    ids: { from: ['visitorId', 'oldVisitorId'], read: identityOf },
    uuid: uuidIn(slug, ['eventId'], writer, [
      { from: ['visitorId'], read: ({ visitorId }) => personId(visitorId) },
      'time',
      { path: 'eventType' },
      { path: 'elementPath' },
    ]),
    order: ['event', 'time', 'ids', 'names'],
    properties: [
      { ...properties, bag: '', without: readApart },
      {
        of: 'members',
        from: ['latitude', 'longitude', 'eventType'],
        add: ({ latitude, longitude, eventType }, properties) => {
          writer.put(properties, 'latitude', asNumber(latitude));
          writer.put(properties, 'longitude', asNumber(longitude));
          if (writer.eventName(idOf(eventType) ?? '') === '$autocapture')
            writer.put(properties, 'eventType', eventType);
        },
      },
      { ...properties, bag: 'propertiesJson', mayBeText: true, mayBeValue: true },
      {
        of: 'members',
        from: ['accountId'],
        add: ({ accountId }, properties) => {
          const account = personId(accountId);
          if (account !== undefined) properties['$groups'] = { [groupType]: account };
        },
      },
    ],
    links: writer.join,
    usual: {},
  };
});

function identityOf({ visitorId, oldVisitorId }: Json): Identity | NoEvents {
  const user = personId(visitorId);
  if (user === undefined)
    return unreadable(`expected an id other than a placeholder in visitorId, got ${kindOf(visitorId)}`);
  return { distinctId: user, user, device: personId(oldVisitorId) };
}

const readApart: ReadonlySet<string> = new Set(
  'accountId browserTimestamp eventType latitude longitude oldVisitorId propertiesJson visitorId'.split(' '),
);
