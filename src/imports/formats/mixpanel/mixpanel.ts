import type { ReaderMemory } from '../reader-memory.ts';
import { createUuids } from '../derived-uuids.ts';
import { createEventWriter, imported, leftOut, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, FormatOptions, NameTable, RecordReader, RecordResult } from '../format.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { groupProperties, groupsOf } from './groups.ts';
import { deviceOf, distinctIdOf, isFailedLink, userOf } from './ids.ts';
import type { MixpanelContext } from './mixpanel-context.ts';
import { mixpanelNames } from './names.ts';
import { insertIdNamespace, mixpanelPlain } from './plain.ts';
import { fromWarehouse } from './warehouse.ts';
import { createProfileReader, isProfile } from './profiles.ts';
import { mixpanelVerb } from './verbs.ts';
import { namesOf, rename } from '../names.ts';
import { addPersonOfEvent } from '../add-person-of-event.ts';
import { withPlain } from '../plain-table.ts';
import { readExample } from '../read-example.ts';
import { readOptions } from '../read-options.ts';
import { idOf, kindOf, objectOf, type Json, type Properties } from '../read-values.ts';
import { readObjects } from '../read-objects.ts';
import { isNobody } from '../../../base/nobody-ids.ts';
import { epochTime, kindOfTime, textTime, type Zone, zoneOption } from '../times.ts';

const uuidOfInsertId = createUuids(insertIdNamespace);

export const mixpanel: Format = {
  slug: 'mixpanel',
  name: 'Mixpanel',
  description:
    'Raw events, identity events ($identify, $create_alias, $merge), profiles of users and groups; rows of a warehouse ' +
    'become what the export would have said. The uuid follows from $insert_id as in PostHog’s own importer. Ids that ' +
    'mean nobody (null, undefined, …) make no person.',
  source:
    'The Raw Event Export API (`/api/2.0/export`, one JSON object per line), the table of events as the Data Pipelines, ' +
    'Fivetran, Airbyte or Stitch write it, and the results of the Engage API or its CSV as objects.',
  options: [
    {
      key: 'time_zone',
      description:
        'Zone in which the project counts its seconds. Projects made before 2023 export local time as if it were UTC: give ' +
        'their zone, e.g. America/Los_Angeles. `$last_seen` and `$created` of profiles are read in it too',
      default: 'UTC',
    },
    {
      key: 'groups',
      description: 'Properties that hold keys of groups, e.g. `company_id` or `company_id:company` to name the type',
    },
    { key: 'group_type', description: 'Type of the groups in an export of group profiles that does not say it' },
    {
      key: 'identify',
      description: 'Whether `$identify` links each device to its user',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'profile_time',
      description: 'Time of profiles that say neither `$last_seen` nor `$created`, e.g. the day of the export',
    },
  ],
  times: {
    own: ['properties.time', 'time'],
    received: ['properties.mp_processing_time_ms', 'properties.$mp_api_timestamp_ms', 'mp_processing_time_ms'],
  },
  evidence,
  names: mixpanelNames,
  example: readExample(example),
  createReader,
};

function createReader(given: FormatOptions, names: NameTable, memory?: ReaderMemory): RecordReader {
  const options = readOptions('mixpanel', mixpanel.options, given);
  const zone = zoneOption('time_zone', options['time_zone'] ?? 'UTC');
  const writer = createEventWriter('mixpanel', names, memory);
  const context: MixpanelContext = {
    writer,
    // These two stand beside the properties in an event.
    properties: namesOf({ ...names.properties, time: null, distinct_id: null }),
    zone,
    groups: groupProperties(options['groups'] ?? ''),
    identify: options['identify'] === 'yes',
    countryName: createCountryNames(),
  };
  const readProfile = createProfileReader(writer, names, zone, options);
  const read = readObjects((record) => (isProfile(record) ? readProfile(record) : readEvent(record, context)));
  return withPlain(read, mixpanelPlain(context));
}

function readEvent(record: Json, context: MixpanelContext): RecordResult {
  const given = fromWarehouse(record) ?? record;
  const name = idOf(given.event);
  if (name === undefined) return unreadable(`expected the name of the event in "event", got ${kindOf(given.event)}`);
  const source = objectOf(given.properties);
  const timestamp = timeOf(source['time'], context.zone);
  if (timestamp === undefined) {
    return unreadable(
      `expected seconds or milliseconds since 1970 in properties.time, got ${kindOfTime(source['time'])}`,
    );
  }
  const verb = mixpanelVerb(name, source);
  if (verb?.kind === 'unreadable' || verb?.kind === 'skipped') return verb;
  const uuid = uuidOf(given, source, context.writer);
  if (verb !== undefined) {
    return imported(
      verb.links.map(({ event, distinctId, properties }, index) =>
        context.writer.event(
          index === 0 ? uuid : context.writer.id(uuid, event, String(index)),
          event,
          distinctId,
          timestamp,
          { ...ownProperties(source, context), ...properties },
        ),
      ),
    );
  }
  const event = context.writer.eventName(name);
  return event === null ? leftOut(name) : plainEvent(event, uuid, timestamp, source, context);
}

function timeOf(value: unknown, zone: Zone): string | undefined {
  return epochTime(value, undefined, zone) ?? textTime(value, zone);
}

function uuidOf(record: Json, source: Json, writer: EventWriter): string {
  const insertId = idOf(source['$insert_id']);
  // Nesting has been checked, so there always is a text of the content.
  return insertId === undefined
    ? (writer.contentId(record) ?? writer.id(JSON.stringify(record)))
    : uuidOfInsertId(insertId);
}

function plainEvent(
  event: string,
  uuid: string,
  timestamp: string,
  source: Json,
  context: MixpanelContext,
): RecordResult {
  const distinctId = distinctIdOf(source);
  if (distinctId === undefined) return unreadable('expected an id in distinct_id, $user_id or $device_id');
  const properties = ownProperties(source, context);
  const user = userOf(source);
  const device = deviceOf(source);
  if (user !== undefined) properties['$mixpanel_user_id'] = user;
  if (device !== undefined) properties['$mixpanel_device_id'] = device;
  if (isNobody(distinctId)) properties['$process_person_profile'] = false;
  else addPersonOfEvent(properties);
  const groups = groupsOf(source, context.groups);
  if (groups !== undefined) properties['$groups'] = groups;
  const links =
    context.identify && user !== undefined && device !== undefined && !isFailedLink(source)
      ? context.writer.identify(user, device, timestamp)
      : [];
  return imported([...links, context.writer.event(uuid, event, distinctId, timestamp, properties)]);
}

function ownProperties(source: Json, { properties: names, countryName }: MixpanelContext): Properties {
  const properties: Properties = {};
  rename(source, names, properties);
  const country = properties['$geoip_country_code'];
  if (typeof country === 'string' && properties['$geoip_country_name'] === undefined) {
    const name = countryName(country);
    if (name !== undefined) properties['$geoip_country_name'] = name;
  }
  return properties;
}

/** English names by code, remembered: there are at most 676 codes. */
function createCountryNames(): MixpanelContext['countryName'] {
  const countries = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const known = new Map<string, string | undefined>();
  return (code) => {
    if (!/^[a-z]{2}$/i.test(code)) return undefined;
    const key = code.toUpperCase();
    if (!known.has(key)) known.set(key, countries.of(key));
    return known.get(key);
  };
}
