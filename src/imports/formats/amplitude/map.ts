import { isObject } from '../../../base/json.ts';
import { unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { NameTable } from '../format.ts';
import { timeAt } from '../map-times.ts';
import { namesOf, type Names } from '../names.ts';
import { personId } from '../person-id.ts';
import { note } from '../read-by-map.ts';
import { idOf, kindOf, numberOf, objectOf, type Json } from '../read-values.ts';
import type { Links } from '../reader-memory.ts';
import type { Derived, Draft, Hook, Identity, PersonStep, RecordMap } from '../record-map.ts';
import { kindOfTimes, textTime, utc } from '../times.ts';
import { loaderMarks } from '../warehouse-row.ts';
import { addDeviceId, columnNames, createSystemAdder } from './columns.ts';
import { applyOperations, hasOperations, isInitial, none } from './event-person.ts';
import { addEventType } from './event-type.ts';
import { addGroups, createGroupReader } from './groups.ts';
import { createSessionIds } from './sessions.ts';
import { userChanges, userOperations } from './user-operations.ts';
import { exportedRecord } from './warehouse.ts';

export interface AmplitudeParts {
  readonly writer: EventWriter;
  readonly links: Links;
  readonly names: NameTable;
  /** Whether devices are linked to their users. */
  readonly identify: boolean;
  /** Whether events carry the user properties of their moment. */
  readonly setsPerson: boolean;
}

const idColumns = ['user_id', 'device_id', 'amplitude_id'];

/** What lines of the Export API become. */
export function amplitudeMap({ writer, links, names, identify, setsPerson }: AmplitudeParts): RecordMap {
  const readGroups = createGroupReader(writer, links);
  return {
    source: 'amplitude',
    reshape: exportedRecord,
    event: {
      from: ['event_type'],
      read: ({ event_type: name }) =>
        idOf(name) ?? unreadable(`expected the name of the event in event_type, got ${kindOf(name)}`),
      named: writer.eventName,
    },
    // Written in UTC without saying so.
    time: timeAt({ path: 'event_time', zone: utc }, otherTime),
    ids: { from: idColumns, read: identityOf, add: (properties, _, record) => addDeviceId(record, properties) },
    uuid: { is: 'uuid', path: 'uuid', otherwise: uuidMaker(writer) },
    order: ['event', 'time', 'ids', 'names'],
    properties: [
      { bag: 'event_properties', names: namesOf(names.properties), taken: 'keeps-own-name' },
      { bag: '', names: columnNames(names), nothing: [null, '', {}, []], taken: { prefix: 'amplitude_' } },
      'ids',
      {
        of: 'members',
        from: ['os_name', 'os_version', 'device_type', 'language'],
        add: createSystemAdder(),
      },
      'time',
      eventType(writer),
      { of: 'members', from: ['groups'], add: addGroups },
      session(),
      'person',
      sampling,
    ],
    ...(setsPerson && { person: personSteps(namesOf(names.person_properties)) }),
    ...(identify && { links: writer.identify }),
    beside: {
      from: ['group_properties'],
      isIdle: ({ group_properties: groups }) => !isObject(groups) || Object.keys(groups).length === 0,
      events: ({ record, timestamp }) => readGroups(record, timestamp),
    },
    keepsLinks: true,
    // A text in user_properties makes the record a row of a warehouse, also where they are ignored.
    ...(setsPerson && { usual: { has: ['event_properties'], lacks: loaderMarks } }),
  };
}

const times = ['event_time', 'client_event_time', 'server_received_time'];

function otherTime(draft: Draft): string | NoEvents {
  for (const from of times.slice(1)) {
    const time = textTime(draft.record[from]);
    if (time === undefined) continue;
    draft.ofTime = { $amplitude_time_from: from };
    return time;
  }
  const got = kindOfTimes(draft.record, times);
  return unreadable(`expected a time in event_time, client_event_time or server_received_time, got ${got}`);
}

function identityOf({ user_id: userId, device_id: deviceId, amplitude_id: amplitudeId }: Json): Identity | NoEvents {
  const user = personId(userId);
  const device = personId(deviceId);
  const person = user ?? device ?? personId(amplitudeId);
  const distinctId = person ?? idOf(userId) ?? idOf(deviceId);
  if (distinctId === undefined) return unreadable('expected an id in user_id, device_id or amplitude_id');
  return { distinctId, isNobody: person === undefined, user, device };
}

function uuidMaker(writer: EventWriter): (draft: Draft) => string {
  return ({ record }) => {
    const id = idOf(record['$insert_id']);
    // Amplitude itself takes two events of one device with the same $insert_id for one.
    return id === undefined ? writer.contentId(record) : writer.id('$insert_id', idOf(record['device_id']) ?? '', id);
  };
}

function eventType({ eventName }: EventWriter): Derived {
  return {
    of: 'members',
    from: ['event_type'],
    add: ({ event_type: given }, properties) => {
      const name = idOf(given) ?? '';
      addEventType(name, eventName(name) ?? '', properties);
    },
  };
}

function session(): Derived {
  const sessionId = createSessionIds();
  return {
    of: 'members',
    from: ['session_id', ...idColumns],
    isVaried: true,
    add: (record, properties) => {
      const id = sessionId(record['session_id'], () => deviceOf(record));
      if (id !== undefined) properties['$session_id'] ??= id;
    },
  };
}

function deviceOf(record: Json): string {
  const device = personId(record['device_id']);
  if (device !== undefined) return device;
  const identity = identityOf(record);
  return ('distinctId' in identity && identity.distinctId) || '';
}

/** Of an event that stands for several: Amplitude took in only this share of them. */
const sampling: Hook = {
  from: ['sample_rate'],
  isIdle: ({ sample_rate: rate }) => rate === undefined || rate === null,
  run: (draft) => {
    const share = numberOf(draft.record['sample_rate']);
    if (share !== undefined && share !== 1) note(draft, { of: 'amplitude_sampled', sample: String(share) });
  },
};

/** The user properties of the moment. */
function personSteps(names: Names): readonly PersonStep[] {
  return [
    {
      bag: 'user_properties',
      names,
      nothing: [null],
      taken: 'keeps-own-name',
      into: { once: isInitial, nothing: [none] },
      view: (value) => (isObject(value) ? userChanges(value).set : undefined),
    },
    {
      from: userOperations.map((operation) => `user_properties.${operation}`),
      isIdle: (record) => !hasOperations(objectOf(record['user_properties'])),
      run: (draft) => applyOperations(objectOf(draft.record['user_properties']), names, draft),
    },
  ];
}
