import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { imported, skipped, unreadable, type EventWriter } from '../event-writer.ts';
import { formatByMap } from '../format-by-map.ts';
import type { Format, NameTable, RecordResult, Evidence } from '../format.ts';
import { put, userOrDevice } from '../map-rules.ts';
import {
  memberAt,
  personId,
  firstId,
  idOf,
  kindOf,
  listOf,
  objectOf,
  type Json,
  type Properties,
} from '../read-values.ts';
import { timeOfTextOrMs } from '../read-times.ts';
import type { Draft } from '../record-map.ts';
import { kindOfTime } from '../times.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is timestamp_unixtime_ms of the event. The timestamp of the batch (its creation or receipt) applies to the user, and to events without one.',
    sources: [
      'https://docs.mparticle.com/schema/mparticle.inbound.eventsapi.schema.json',
      'https://support.mparticle.com/hc/en-us/articles/7004272100365-What-is-the-Difference-Between-Batch-and-Event-Timestamp',
    ],
  },
  zone: {
    rule: 'Milliseconds since 1970.',
    sources: ['https://docs.mparticle.com/schema/mparticle.inbound.eventsapi.schema.json'],
  },
  ids: {
    rule: 'source_message_id is the globally unique id of an event; without it the uuid is derived from event_id, else from batch_id and position.',
    sources: ['https://docs.mparticle.com/schema/mparticle.inbound.eventsapi.schema.json'],
  },
  links: {
    rule: "mpid is mParticle's id of a person, shared by all identities; the identity selected by the option is the user.",
    sources: ['https://docs.mparticle.com/schema/mparticle.inbound.eventsapi.schema.json'],
    option: 'user_identity',
  },
  counts: {
    rule: 'mParticle guarantees at-least-once delivery without deduplication: a batch delivered twice is stored once, by its ids. Only hashed identities are skipped.',
    sources: ['https://docs.mparticle.com/developers/apis/http/'],
  },
};

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

const about = {
  slug,
  name: 'mParticle',
  description:
    'Batches: the events of one user with the attributes of user, device and application. distinct_id is the ' +
    'identity selected by the option `user_identity`, else mpid, ' +
    'else the device id. Records such as `device_info` are flattened: ' +
    '`device_info.platform` is `device_info_platform` in the name table. User attributes go to `$set` ' +
    'of the first event of a batch. The uuid is source_message_id, else it is derived from event_id, else from ' +
    'batch_id and the position in the batch. A batch with one unreadable event is rejected as a whole.',
  source: 'The files of the Amazon S3 or Google Cloud Storage event integration, or of the warehouse, as JSON lines.',
  options: [
    {
      key: 'user_identity',
      label: 'User identity',
      description: 'The identity type that identifies a known user: customer_id, email, other …',
      default: 'customer_id',
    },
  ],
  evidence,
  names,
  example,
};

export const mparticle: Format = formatByMap(about, ({ options, names, writer }) => {
  const userIdentity = options['user_identity'] || 'customer_id';
  const properties = put(names.properties);
  /** Person properties of the current batch, until its first event has them. */
  let person: Properties = {};
  return {
    source: slug,
    held: (batch) => {
      const { events } = batch;
      if (events !== undefined && events !== null && !Array.isArray(events)) {
        return unreadable(`expected events as a list, got ${kindOf(events)}`);
      }
      const identities = identitiesOf(batch['user_identities']);
      const who = { user: personId(identities.get(userIdentity)), device: deviceOf(batch, listOf(events)) };
      if (who.user === undefined && who.device === undefined) {
        return unreadable(
          `expected an identity ${userIdentity}, mpid or the id of a device; mpid is ${kindOf(batch['mpid'])}`,
        );
      }
      person = personOf(writer, batch, identities, userIdentity);
      if (listOf(events).length === 0) return readProfile(writer, { ...who, batch, person });
      const recordOf = (item: Json, place: number): Json => ({ ...who, batch, item, place });
      return { items: listOf(events), name: 'events', nothing: 'a batch without events', recordOf };
    },
    event: {
      from: ['item.event_type', 'item.data.event_name'],
      read: (record) =>
        idOf(isCustom(record) ? eventName(record) : eventType(record)) ??
        unreadable(isCustom(record) ? 'expected the name of the event in data.event_name' : 'expected event_type'),
      // A custom event named like an event type is not of that type.
      named: (name, record) =>
        isCustom(record) && Object.hasOwn(about.names.events, name) ? name : writer.eventName(name),
    },
    time: {
      from: ['item.data.timestamp_unixtime_ms', 'batch.timestamp_unixtime_ms'],
      read: (record) => timeOfTextOrMs(timeOf(record)),
      otherwise: ({ record }) =>
        unreadable(`expected timestamp_unixtime_ms in milliseconds, got ${kindOfTime(timeOf(record))}`),
    },
    ids: userOrDevice(['user'], ['device'], unreadable('expected an identity')),
    uuid: { is: 'uuid', path: 'item.data.source_message_id', otherwise: (draft) => uuidOf(writer, draft) },
    order: ['event', 'time', 'names', 'ids'],
    properties: [
      { ...properties, bag: 'batch', without: aboutBatch, levels: 3 },
      { ...properties, bag: 'item.data', without: aboutEvent },
      { ...properties, bag: 'item.data.location', mayBeValue: true, prefix: 'location_' },
      { ...properties, bag: 'item.data.custom_attributes', mayBeValue: true },
      {
        of: 'members',
        from: ['item.event_type', 'item.data.event_name'],
        add: (record, target) => {
          if (!isCustom(record)) writer.put(target, 'event_name', eventName(record));
          if (Object.keys(person).length > 0) target['$set'] = person;
          person = {};
        },
      },
    ],
    links: writer.identify,
  };
});

const eventType = memberAt('item.event_type');
const eventName = memberAt('item.data.event_name');
const eventTime = memberAt('item.data.timestamp_unixtime_ms');
const isCustom = (record: Json): boolean => eventType(record) === 'custom_event';
const timeOf = (record: Json): unknown => eventTime(record) ?? objectOf(record['batch'])['timestamp_unixtime_ms'];

/**
 * Reads a list of `{identity_type, identity}` as in exports, or of `{type, encoding, value}` as in profiles, or an object of type
 * → identity as senders write it. Hashed identities are skipped, because they are different ids.
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

const aboutBatch: ReadonlySet<string> = new Set(['events', 'user_attributes', 'user_identities']);
const aboutEvent: ReadonlySet<string> = new Set(
  'custom_attributes event_id event_name location source_message_id timestamp_unixtime_ms'.split(' '),
);

interface Profile {
  readonly batch: Json;
  readonly user: string | undefined;
  readonly device: string | undefined;
  readonly person: Properties;
}

/** Reads a batch that only describes the user. */
function readProfile(writer: EventWriter, { batch, user, device, person }: Profile): RecordResult {
  const timestamp = timeOfTextOrMs(batch['timestamp_unixtime_ms']);
  if (Object.keys(person).length === 0 || timestamp === undefined) return skipped('a batch without events');
  const distinctId = user ?? device ?? '';
  const identify = user !== undefined && device !== undefined ? writer.identify(user, device, timestamp) : [];
  const idParts = ['profile', distinctId, canonicalJson(person)];
  return imported([...identify, writer.generated(idParts, '$set', distinctId, timestamp, { $set: person })]);
}

function uuidOf(writer: EventWriter, { record, identity }: Draft): string {
  const { batch, item, place } = record;
  const data = objectOf(objectOf(item)['data']);
  const id = firstId(data['event_id'], data['source_message_id']);
  if (id !== undefined) return writer.id('event', id);
  const batchId = idOf(objectOf(batch)['batch_id']);
  if (batchId !== undefined) return writer.id('event', batchId, String(place));
  return writer.contentId([identity.distinctId, item]);
}
