import { canonicalUuid } from '../../../base/uuids.ts';
import { createEventWriter, imported, leftOut, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, NameTable, RecordReader } from '../format.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { personId } from '../person-id.ts';
import { readExample } from '../read-example.ts';
import { readObjects } from '../read-objects.ts';
import { readOptions } from '../read-options.ts';
import { timeOfTextOrMs } from '../read-times.ts';
import { asNumber, idOf, kindOf, objectOfJson, type Json, type Properties } from '../read-values.ts';
import { kindOfTime } from '../times.ts';

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

export const pendo: Format = {
  slug,
  name: 'Pendo',
  description:
    'Rows of the events of Data Sync. The kind of an event is its eventType; click, change and focus say which ' +
    'in `$event_type`. distinct_id is visitorId; oldVisitorId, the visitor before it was known, is linked to it. ' +
    'accountId becomes a group. propertiesJson is taken apart; elementPath stays as it is. The uuid is eventId ' +
    'where that is a UUID, else it follows from eventId, visitor, time, kind and element, and in rows without ' +
    'eventId from the content.',
  source:
    'The events of Data Sync (`allevents.avro`), or the table that a warehouse made of them as Parquet or JSON lines.',
  options: [{ key: 'group_type', description: 'The kind of group that accounts become.', default: 'account' }],
  times: { own: ['browserTimestamp'], received: [] },
  evidence,
  names,
  example: readExample(example),
  createReader: (given, names, memory) => {
    const options = readOptions(slug, pendo.options, given);
    return createReader(createEventWriter(slug, names, memory), options['group_type'] || 'account');
  },
};

function createReader(writer: EventWriter, groupType: string): RecordReader {
  return readObjects((row) => {
    const sourceName = idOf(row['eventType']);
    if (sourceName === undefined) return unreadable(`expected eventType, got ${kindOf(row['eventType'])}`);
    const timestamp = timeOfTextOrMs(row['browserTimestamp']);
    if (timestamp === undefined) {
      return unreadable(
        `expected browserTimestamp in milliseconds since 1970, got ${kindOfTime(row['browserTimestamp'])}`,
      );
    }
    const visitor = personId(row['visitorId']);
    if (visitor === undefined)
      return unreadable(`expected the id of somebody in visitorId, got ${kindOf(row['visitorId'])}`);
    const event = writer.eventName(sourceName);
    if (event === null) return leftOut(sourceName);
    const uuid = uuidOf(writer, row, visitor, timestamp, sourceName);
    const properties = propertiesOf(writer, row, event);
    const account = personId(row['accountId']);
    if (account !== undefined) properties['$groups'] = { [groupType]: account };
    const before = personId(row['oldVisitorId']);
    const identify = before === undefined ? [] : writer.join(visitor, before, timestamp);
    return imported([...identify, writer.event(uuid, event, visitor, timestamp, properties)]);
  });
}

function uuidOf(writer: EventWriter, row: Json, visitor: string, timestamp: string, sourceName: string): string {
  const id = idOf(row['eventId']);
  if (id === undefined) return writer.contentId(row);
  const own = canonicalUuid(id);
  if (own !== undefined) return own;
  return writer.id('event', id, visitor, timestamp, sourceName, idOf(row['elementPath']) ?? '');
}

const readApart = new Set([
  'accountId',
  'browserTimestamp',
  'eventType',
  'latitude',
  'longitude',
  'oldVisitorId',
  'propertiesJson',
  'visitorId',
]);

function propertiesOf(writer: EventWriter, row: Json, event: string): Properties {
  const properties: Properties = {};
  for (const column of Object.keys(row)) if (!readApart.has(column)) writer.put(properties, column, row[column]);
  for (const column of ['latitude', 'longitude']) writer.put(properties, column, asNumber(row[column]));
  if (event === '$autocapture') writer.put(properties, 'eventType', row['eventType']);
  const own = objectOfJson(row['propertiesJson']);
  if (own === undefined) writer.put(properties, 'propertiesJson', row['propertiesJson']);
  else writer.putAll(properties, own);
  return properties;
}
