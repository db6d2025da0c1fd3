import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { canonicalUuid } from '../../../base/uuids.ts';
import { createEventWriter, imported, leftOut, skipped, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, NameTable, RecordReader, RecordResult } from '../format.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { personId } from '../person-id.ts';
import { readExample } from '../read-example.ts';
import { readList, readable, type Readable } from '../read-list.ts';
import { readObjects } from '../read-objects.ts';
import { readOptions } from '../read-options.ts';
import { timeOfTextOrMs } from '../read-times.ts';
import { firstId, idOf, kindOf, listOf, objectOf, type Json, type Properties } from '../read-values.ts';
import { kindOfTime } from '../times.ts';

const slug = 'mparticle';

const names: NameTable = {
  events: { screen_view: '$screen', session_end: null, session_start: null },
  properties: {
    application_info_application_build_number: '$app_build',
    application_info_application_name: '$app_name',
    application_info_application_version: '$app_version',
    application_info_package: '$app_namespace',
    device_info_brand: '$device_brand',
    device_info_device_country: '$geoip_country_code',
    device_info_device_manufacturer: '$device_manufacturer',
    device_info_device_model: '$device_model',
    device_info_http_header_user_agent: '$useragent',
    device_info_locale_language: '$locale',
    device_info_network_carrier: '$network_carrier',
    device_info_os_version: '$os_version',
    device_info_platform: '$os',
    device_info_screen_height: '$screen_height',
    device_info_screen_width: '$screen_width',
    ip: '$ip',
    location_latitude: '$geoip_latitude',
    location_longitude: '$geoip_longitude',
    message_id: null,
    message_type: null,
    schema_version: null,
    screen_name: '$screen_name',
    source_request_id: null,
    unique_id: null,
  },
  person_properties: {},
};

export const mparticle: Format = {
  slug,
  name: 'mParticle',
  description:
    'Batches: the events of one user with what is known of user, device and application. distinct_id is the ' +
    'identity that the option `user_identity` names, else mpid, ' +
    'else the id of the device. Records such as `device_info` are taken apart, ' +
    '`device_info.platform` is called `device_info_platform` in the table of names. User attributes go to `$set` ' +
    'of the first event of a batch. The uuid is source_message_id, else it follows from event_id, else from ' +
    'batch_id and the place in the batch. A batch in which one event cannot be read is refused as a whole.',
  source: 'The files of the Amazon S3 or Google Cloud Storage event integration, or of the warehouse, as JSON lines.',
  options: [
    {
      key: 'user_identity',
      description: 'The kind of identity that tells who a known user is: customer_id, email, other …',
      default: 'customer_id',
    },
  ],
  evidence,
  names,
  example: readExample(example),
  createReader: (given, names, memory) => {
    const options = readOptions(slug, mparticle.options, given);
    return createReader(createEventWriter(slug, names, memory), options['user_identity'] || 'customer_id');
  },
};

interface Batch {
  readonly batch: Json;
  readonly user: string | undefined;
  readonly device: string | undefined;
  readonly distinctId: string;
  readonly person: Properties;
  readonly shared: Properties;
}

function createReader(writer: EventWriter, userIdentity: string): RecordReader {
  return readObjects((batch) => {
    const { events } = batch;
    if (events !== undefined && events !== null && !Array.isArray(events)) {
      return unreadable(`expected events as a list, got ${kindOf(events)}`);
    }
    const identities = identitiesOf(batch['user_identities']);
    const user = personId(identities.get(userIdentity));
    const device = deviceOf(batch, listOf(events));
    const distinctId = user ?? device;
    if (distinctId === undefined) {
      return unreadable(
        `expected an identity ${userIdentity}, mpid or the id of a device; mpid is ${kindOf(batch['mpid'])}`,
      );
    }
    const person = personOf(writer, batch, identities, userIdentity);
    const parts: Batch = { batch, user, device, distinctId, person, shared: sharedOf(writer, batch) };
    if (listOf(events).length === 0) return readProfile(writer, parts);
    let isFirst = true;
    return readList(listOf(events), 'events', 'a batch without events', (item, index) =>
      readEvent(writer, parts, item, index, () => {
        const first = isFirst;
        isFirst = false;
        return first;
      }),
    );
  });
}

/**
 * A list of `{identity_type, identity}` as in exports, or of `{type, encoding, value}` as in profiles, or an object of type →
 * identity as senders write it. The hash of an identity is another id than the identity: it is left out.
 */
function identitiesOf(value: unknown): ReadonlyMap<string, unknown> {
  if (isObject(value)) return new Map(Object.entries(value));
  const found = new Map<string, unknown>();
  for (const each of listOf(value)) {
    if (!isObject(each)) continue;
    const type = firstId(each['identity_type'], each['type']);
    const isHashed = typeof each['encoding'] === 'string' && !plainEncodings.has(each['encoding']);
    if (type === undefined || isHashed || found.has(type)) continue;
    found.set(type, each['identity'] ?? each['value']);
  }
  return found;
}

const plainEncodings: ReadonlySet<string> = new Set(['none', 'raw']);

function deviceOf(batch: Json, events: readonly unknown[]): string | undefined {
  const device = objectOf(batch['device_info']);
  const known = personId(
    batch['mpid'],
    batch['mp_deviceid'],
    device['device_application_stamp'],
    device['mp_deviceid'],
  );
  if (known !== undefined) return known;
  const [first] = events;
  const data = isObject(first) ? objectOf(first['data']) : {};
  return personId(device['ios_advertising_id'], device['android_advertising_id'], data['session_uuid']);
}

function personOf(
  writer: EventWriter,
  batch: Json,
  identities: ReadonlyMap<string, unknown>,
  userIdentity: string,
): Properties {
  const person: Properties = {};
  const attributes = objectOf(batch['user_attributes']);
  for (const key of Object.keys(attributes)) writer.putPerson(person, key, attributes[key]);
  for (const [type, identity] of identities) {
    if (type === 'email' || type !== userIdentity) {
      writer.putPerson(person, type === 'email' ? 'email' : `user_identity_${type}`, identity);
    }
  }
  return person;
}

const aboutBatch = new Set(['events', 'user_attributes', 'user_identities']);

function sharedOf(writer: EventWriter, batch: Json): Properties {
  const properties: Properties = {};
  for (const key of Object.keys(batch)) if (!aboutBatch.has(key)) putApart(writer, properties, key, batch[key], 3);
  return properties;
}

function putApart(writer: EventWriter, target: Properties, name: string, value: unknown, levels: number): void {
  if (isObject(value) && levels > 0) {
    for (const key of Object.keys(value)) putApart(writer, target, `${name}_${key}`, value[key], levels - 1);
  } else writer.put(target, name, value);
}

/** A batch that says only who the user is. */
function readProfile(writer: EventWriter, { batch, user, device, distinctId, person }: Batch): RecordResult {
  const timestamp = timeOfTextOrMs(batch['timestamp_unixtime_ms']);
  if (Object.keys(person).length === 0 || timestamp === undefined) return skipped('a batch without events');
  const identify = user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
  const idParts = ['profile', distinctId, canonicalJson(person)];
  return imported([...identify, writer.generated(idParts, '$set', distinctId, timestamp, { $set: person })]);
}

const aboutEvent = new Set([
  'custom_attributes',
  'event_id',
  'event_name',
  'location',
  'source_message_id',
  'timestamp_unixtime_ms',
]);

function readEvent(writer: EventWriter, parts: Batch, item: Json, index: number, isFirst: () => boolean): Readable {
  const data = objectOf(item['data']);
  const kind = idOf(item['event_type']);
  const isCustom = kind === 'custom_event';
  const sourceName = isCustom ? idOf(data['event_name']) : kind;
  if (sourceName === undefined) {
    return unreadable(isCustom ? 'expected the name of the event in data.event_name' : 'expected event_type');
  }
  const time = data['timestamp_unixtime_ms'] ?? parts.batch['timestamp_unixtime_ms'];
  const timestamp = timeOfTextOrMs(time);
  if (timestamp === undefined)
    return unreadable(`expected timestamp_unixtime_ms in milliseconds, got ${kindOfTime(time)}`);
  // An own event that is called like a kind of event is none.
  const isOwnName = isCustom && Object.hasOwn(names.events, sourceName);
  const event = isOwnName ? sourceName : writer.eventName(sourceName);
  if (event === null) return leftOut(sourceName);
  return readable(() => {
    const { user, device, distinctId, person } = parts;
    const properties = propertiesOf(writer, parts.shared, data);
    if (!isCustom) writer.put(properties, 'event_name', data['event_name']);
    if (Object.keys(person).length > 0 && isFirst()) properties['$set'] = person;
    const uuid = uuidOf(writer, parts, item, data, index);
    const identify = user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
    return [...identify, writer.event(uuid, event, distinctId, timestamp, properties)];
  });
}

function propertiesOf(writer: EventWriter, shared: Properties, data: Json): Properties {
  const properties: Properties = { ...shared };
  for (const key of Object.keys(data)) if (!aboutEvent.has(key)) writer.put(properties, key, data[key]);
  putApart(writer, properties, 'location', data['location'], 1);
  const attributes = data['custom_attributes'];
  if (isObject(attributes)) writer.putAll(properties, attributes);
  else writer.put(properties, 'custom_attributes', attributes);
  return properties;
}

function uuidOf(writer: EventWriter, { batch, distinctId }: Batch, item: Json, data: Json, index: number): string {
  const message = data['source_message_id'];
  const own = canonicalUuid(message);
  if (own !== undefined) return own;
  const id = firstId(data['event_id'], message);
  if (id !== undefined) return writer.id('event', id);
  const batchId = idOf(batch['batch_id']);
  if (batchId !== undefined) return writer.id('event', batchId, String(index));
  return writer.contentId([distinctId, item]);
}
