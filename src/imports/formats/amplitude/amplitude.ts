import { createReaderMemory } from '../reader-memory.ts';
import { isObject } from '../../../base/json.ts';
import { columnNames, createColumns } from './columns.ts';
import { addPerson } from './event-person.ts';
import { addEventType } from './event-type.ts';
import { evidence } from './evidence.ts';
import example from './example.json' with { type: 'json' };
import { addGroups, createGroupReader } from './groups.ts';
import { amplitudeNames } from './names.ts';
import { amplitudePlain } from './plain.ts';
import { createSessionIds } from './sessions.ts';
import { exportedRecord } from './warehouse.ts';
import { canonicalUuid } from '../../../base/uuids.ts';
import { createEventWriter, imported, leftOut, unreadable, type EventWriter } from '../event-writer.ts';
import type { Format, FormatOptions, NameTable, RecordReader } from '../format.ts';
import { namesOf, rename } from '../names.ts';
import { withPlain } from '../plain-table.ts';
import { personId } from '../person-id.ts';
import { readExample } from '../read-example.ts';
import { readOptions } from '../read-options.ts';
import { idOf, kindOf, numberOf, type Json, type Properties } from '../read-values.ts';
import type { FoundNote } from '../record-notes.ts';
import { readObjects } from '../read-objects.ts';
import { kindOfTimes, textTime } from '../times.ts';

export const amplitude: Format = {
  slug: 'amplitude',
  name: 'Amplitude',
  description:
    'Events of the export with all properties of event, user and groups. distinct_id is user_id, else device_id, else ' +
    'amplitude_id; the uuid is the export’s own. Sessions keep their start in `$session_id`. Of the operations in user_properties, $set, $setOnce and $unset are applied; ' +
    'others depend on the value before and are named by the check. In the table of names, ' +
    '`column:x` is the column x of the export.',
  source:
    'The Export API (`/api/2/export`): a zip of gzipped files with one JSON object per line. Or the table of events of a ' +
    'warehouse, as Amplitude, Fivetran and other loaders fill it.',
  options: [
    {
      key: 'identify',
      description: 'Whether `$identify` links each device to its user',
      default: 'yes',
      choices: ['yes', 'no'],
    },
    {
      key: 'user_properties',
      description: 'Whether every event carries the user properties of its moment in `$set`',
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
  example: readExample(example),
  createReader,
};

function createReader(given: FormatOptions, names: NameTable, memory = createReaderMemory()): RecordReader {
  const options = readOptions('amplitude', amplitude.options, given);
  const writer = createEventWriter('amplitude', names, memory);
  const propertyNames = namesOf(names.properties);
  const personNames = options['user_properties'] === 'yes' ? namesOf(names.person_properties) : undefined;
  const addColumns = createColumns(names);
  const readGroups = createGroupReader(writer, memory.links);
  const sessionId = createSessionIds();
  const read = readObjects((given) => {
    const record = exportedRecord(given);
    const name = idOf(record['event_type']);
    if (name === undefined)
      return unreadable(`expected the name of the event in event_type, got ${kindOf(record['event_type'])}`);
    const time = timeOf(record);
    if (time === undefined) {
      return unreadable(
        `expected a time in event_time, client_event_time or server_received_time, got ${kindOfTimes(record, times)}`,
      );
    }
    const person = personId(record['user_id'], record['device_id'], record['amplitude_id']);
    const distinctId = person ?? idOf(record['user_id']) ?? idOf(record['device_id']);
    if (distinctId === undefined) return unreadable('expected an id in user_id, device_id or amplitude_id');
    const user = personId(record['user_id']);
    const device = personId(record['device_id']);
    const links = options['identify'] === 'yes' && user !== undefined && device !== undefined;
    const generated = [
      ...(links ? writer.identify(user, device, time.timestamp) : []),
      ...readGroups(record, time.timestamp),
    ];
    const event = writer.eventName(name);
    if (event === null) return generated.length > 0 ? imported(generated) : leftOut(name);
    const properties: Properties = {};
    if (isObject(record['event_properties'])) rename(record['event_properties'], propertyNames, properties);
    addColumns(record, properties);
    if (time.from !== 'event_time') properties['$amplitude_time_from'] = time.from;
    addEventType(name, event, properties);
    addGroups(record, properties);
    const session = sessionId(record['session_id'], device ?? distinctId);
    if (session !== undefined) properties['$session_id'] ??= session;
    if (person === undefined) properties['$process_person_profile'] = false;
    const notes = [...(person === undefined ? [] : addPerson(record, personNames, properties)), ...sampling(record)];
    generated.push(writer.event(uuidOf(record, writer), event, distinctId, time.timestamp, properties));
    return notes.length === 0 ? imported(generated) : { kind: 'events', events: generated, notes };
  });
  // A text in user_properties makes the record a row of a warehouse, also where they are ignored.
  if (personNames === undefined) return read;
  const isLinked = options['identify'] === 'yes';
  return withPlain(
    read,
    amplitudePlain({ writer, properties: propertyNames, person: personNames, columns: columnNames(names), isLinked }),
  );
}

/** Of an event that stands for several: Amplitude took in only this share of them. */
function sampling({ sample_rate: rate }: Json): readonly FoundNote[] {
  const share = numberOf(rate);
  return share === undefined || share === 1 ? [] : [{ of: 'amplitude_sampled', sample: String(share) }];
}

const times = ['event_time', 'client_event_time', 'server_received_time'] as const;

/** Written in UTC without saying so. */
function timeOf(record: Json): { readonly timestamp: string; readonly from: string } | undefined {
  for (const from of times) {
    const timestamp = textTime(record[from]);
    if (timestamp !== undefined) return { timestamp, from };
  }
  return undefined;
}

function uuidOf(record: Json, writer: EventWriter): string {
  const { uuid, $insert_id: insertId } = record;
  const own = canonicalUuid(uuid);
  if (own !== undefined) return own;
  const id = idOf(insertId);
  // Amplitude itself takes two events of one device with the same $insert_id for one.
  if (id !== undefined) return writer.id('$insert_id', idOf(record['device_id']) ?? '', id);
  return writer.contentId(record) ?? writer.id(JSON.stringify(record));
}
