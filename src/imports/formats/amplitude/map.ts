import { isObject } from '../../../base/json.ts';
import type { EventWriter } from '../event-writer.ts';
import type { Names } from '../names.ts';
import { personId } from '../person-id.ts';
import { namedByText, type PlainIdentity, type PlainTable } from '../plain-table.ts';
import type { Properties } from '../read-values.ts';
import { utc } from '../times.ts';
import { loaderMarks } from '../warehouse-row.ts';
import { createSystems, deviceIdProperties, propertiesOf } from './columns.ts';
import { isInitial, none } from './event-person.ts';
import { addEventType } from './event-type.ts';
import { addGroups } from './groups.ts';
import { createSessionIds } from './sessions.ts';
import { userOperations } from './user-operations.ts';

export interface AmplitudePlain {
  readonly writer: EventWriter;
  readonly properties: Names;
  readonly person: Names;
  readonly columns: Names;
  /** Whether devices are linked to their users. */
  readonly isLinked: boolean;
}

/** Operations are for the reader. */
const operationPaths = userOperations.map((operation) => `user_properties.${operation}`);

const idColumns = ['user_id', 'device_id', 'amplitude_id'];

/** What plain lines of the Export API become. */
export function amplitudePlain({ writer, properties, person, columns, isLinked }: AmplitudePlain): PlainTable {
  const systemOf = createSystems();
  const sessionId = createSessionIds();
  return {
    source: 'amplitude',
    event: ['event_type'],
    eventName: namedByText(writer),
    time: { path: 'event_time', zone: utc, numbers: undefined },
    ids: { paths: idColumns, read: identityOf },
    uuid: { path: 'uuid', is: 'uuid' },
    properties: [
      { bag: 'event_properties', names: properties, isNeeded: true },
      { bag: '', names: columns, nothing: [null, '', {}, []] },
      'ids',
      {
        of: 'members',
        from: ['os_name', 'os_version', 'device_type', 'language'],
        make: ([name, version, device, language]) => propertiesOf(systemOf({ name, version, device, language })),
      },
      { of: 'members', from: ['event_type'], make: ([name]) => typeOf(name) },
      {
        of: 'members',
        from: ['sample_rate'],
        make: ([rate]) => (rate === undefined || rate === null ? {} : undefined),
      },
      {
        of: 'members',
        from: operationPaths,
        make: (found) => (found.every((each) => each === undefined) ? {} : undefined),
      },
      { of: 'members', from: ['groups'], make: ([groups]) => groupsOf(groups) },
      { of: 'members', from: ['group_properties'], make: ([groups]) => (saysNothing(groups) ? {} : undefined) },
      { of: 'members', from: ['session_id', ...idColumns], make: sessionOf, isVaried: true },
      'person',
    ],
    person: [
      { bag: 'user_properties', into: '$set_once', names: person, takes: isInitial, nothing: [null, none] },
      { bag: 'user_properties', into: '$set', names: person, nothing: [null] },
    ],
    odd: loaderMarks,
    identify: isLinked ? writer.identify : undefined,
  };

  function typeOf(name: unknown): Properties {
    const found: Properties = {};
    if (typeof name === 'string') addEventType(name, writer.eventName(name) ?? '', found);
    return found;
  }

  function sessionOf([session, ...ids]: readonly unknown[]): Properties {
    const [, device] = ids;
    const id = sessionId(session, personId(device) ?? personId(...ids) ?? '');
    return id === undefined ? {} : { $session_id: id };
  }
}

function identityOf(ids: readonly unknown[]): PlainIdentity | undefined {
  const [userId, deviceId] = ids;
  const distinctId = personId(...ids);
  if (distinctId === undefined) return undefined;
  const user = personId(userId);
  const device = personId(deviceId);
  return {
    distinctId,
    link: user === undefined || device === undefined ? undefined : { user, device },
    properties: propertiesOf(deviceIdProperties(deviceId)),
  };
}

function groupsOf(groups: unknown): Properties | undefined {
  const found: Properties = {};
  addGroups({ groups }, found);
  const keys = isObject(found['$groups']) ? Object.values(found['$groups']) : [];
  return keys.every((key) => typeof key === 'string' && key.trim() === key) ? found : undefined;
}

/** Groups of which something is said are written as events of their own. */
function saysNothing(groups: unknown): boolean {
  return !isObject(groups) || Object.keys(groups).length === 0;
}
