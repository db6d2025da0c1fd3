import { canonicalUuid } from '../../../base/uuids.ts';
import { assumedZone, assumedZoneOption, type AssumedZone } from '../assumed-zone.ts';
import { createEventWriter, leftOut, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, NameTable, RecordReader } from '../format.ts';
import { personId } from '../person-id.ts';
import { readExample } from '../read-example.ts';
import { readList, readable, readOne, type Readable } from '../read-list.ts';
import { readObjects } from '../read-objects.ts';
import { readOptions } from '../read-options.ts';
import { timeOfTextOrMs } from '../read-times.ts';
import type { Zone } from '../times.ts';
import { firstId, objectOf, objectOfJson, type Json, type Properties } from '../read-values.ts';
import { kindOfTime } from '../times.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };

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

export const statsig: Format = {
  slug,
  name: 'Statsig',
  description:
    'Events, one by one or as a page `{"data": [...]}` of the console. metadata, device_metadata and ' +
    'trimmed_data become properties; the value of a page view is its address. distinct_id is the user, else the ' +
    'device (device or stable id). The uuid is the id of the event (`timeUUID` in a webhook’s) where there is one, ' +
    'else it follows from its content. A page in which one event cannot be read is refused as a whole.',
  source: 'The events of the console API, or a warehouse export with the same members.',
  options: [assumedZoneOption],
  times: { own: ['timestamp'], received: [] },
  evidence,
  names,
  example: readExample(example),
  createReader: (given, names, memory) => {
    const options = readOptions(slug, statsig.options, given);
    return createReader(createEventWriter(slug, names, memory), assumedZone(options));
  },
};

function createReader(writer: EventWriter, { zone, noted }: AssumedZone): RecordReader {
  return readObjects((record) => {
    const { data } = record;
    const isPage = Array.isArray(data) && firstId(record['name'], record['event_name']) === undefined;
    if (!isPage) return noted(readOne(readEvent(writer, record, zone)), record['timestamp']);
    const items = data as readonly unknown[];
    const page = readList(items, 'data', 'a page without events', (each) => readEvent(writer, each, zone));
    return noted(page, objectOf(items[0])['timestamp']);
  });
}

function readEvent(writer: EventWriter, record: Json, zone: Zone): Readable {
  const sourceName = firstId(record['name'], record['event_name'], record['eventName']);
  if (sourceName === undefined) return unreadable(`expected the name of the event in name or event_name, got neither`);
  const timestamp = timeOfTextOrMs(record['timestamp'], zone);
  if (timestamp === undefined) {
    return unreadable(`expected timestamp in milliseconds since 1970, got ${kindOfTime(record['timestamp'])}`);
  }
  const event = writer.eventName(sourceName);
  if (event === null) return leftOut(sourceName);
  const user = personId(record['userID'], record['user_id']);
  const device = personId(record['deviceID'], record['device_id'], record['stableID'], record['stable_id']);
  const distinctId = user ?? device;
  if (distinctId === undefined) return unreadable('expected userID, user_id, deviceID or device_id, got none');
  return readable(() => {
    const properties = propertiesOf(writer, record, sourceName);
    const identify = user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
    return [...identify, writer.event(uuidOf(writer, record), event, distinctId, timestamp, properties)];
  });
}

function uuidOf(writer: EventWriter, record: Json): string {
  const id = firstId(record['id'], record['timeUUID']);
  if (id === undefined) return writer.contentId(record);
  return canonicalUuid(id) ?? writer.id('event', id);
}

const readApart = new Set(
  [
    'device_metadata',
    'event_name',
    'eventName',
    'id',
    'metadata',
    'name',
    'timeUUID',
    'timestamp',
    'trimmed_data',
    'userID',
  ].concat(['user_id', 'value']),
);

/** What stands nearer to the event wins: the members of the record over those of the device, its metadata over both. */
function propertiesOf(writer: EventWriter, record: Json, sourceName: string): Properties {
  const properties: Properties = {};
  putJson(writer, properties, 'device_metadata', record['device_metadata']);
  for (const key of Object.keys(record)) if (!readApart.has(key)) writer.put(properties, key, record[key]);
  putJson(writer, properties, 'trimmed_data', record['trimmed_data']);
  putJson(writer, properties, 'metadata', record['metadata']);
  const isPage = sourceName === 'auto_capture::page_view' || sourceName === 'auto_capture::page_view_end';
  writer.put(properties, isPage ? 'page_url' : 'value', record['value']);
  return properties;
}

/** An object or its JSON, member by member; anything else stays under its own name. */
function putJson(writer: EventWriter, target: Properties, key: string, value: unknown): void {
  const object = objectOfJson(value);
  if (object === undefined) writer.put(target, key, value);
  else writer.putAll(target, object);
}
