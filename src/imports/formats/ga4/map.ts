import { namespaceOf, partsSeparator } from '../derived-uuids.ts';
import { skipped, unreadable, type EventWriter, type NoEvents } from '../event-writer.ts';
import type { NameTable } from '../format.ts';
import { namesOf } from '../names.ts';
import { personId } from '../person-id.ts';
import { timeOfEpoch } from '../read-times.ts';
import { kindOf, type Json } from '../read-values.ts';
import type { Identity, IdPart, RecordMap } from '../record-map.ts';
import { kindOfTime, utc } from '../times.ts';
import { loaderMarks } from '../warehouse-row.ts';
import { idColumns, idKind, idOfRow, placeColumn, placeColumns } from './row-id.ts';
import { addItems, addLifetime, readApart, unset } from './row-values.ts';
import { exportedRow } from './warehouse.ts';

/** Records of a row that are taken apart, as the schema of the export has them. */
const apart =
  `app_info collected_traffic_source device device.web_info ecommerce event_dimensions geo privacy_info publisher
  session_traffic_source_last_click session_traffic_source_last_click.cm360_campaign
  session_traffic_source_last_click.cross_channel_campaign session_traffic_source_last_click.dv360_campaign
  session_traffic_source_last_click.google_ads_campaign session_traffic_source_last_click.manual_campaign
  session_traffic_source_last_click.sa360_campaign traffic_source`.split(/\s+/);

/** What rows of the export become. `importsAnonymous`: those without a user and a device, too. */
export function ga4Map(writer: EventWriter, names: NameTable, importsAnonymous: boolean): RecordMap {
  const properties = namesOf(names.properties);
  return {
    source: 'ga4',
    reshape: exportedRow,
    event: {
      from: ['event_name'],
      read: ({ event_name: name }) =>
        typeof name === 'string' && name !== ''
          ? name
          : unreadable(`expected event_name as a text, got ${kindOf(name)}`),
      named: writer.eventName,
    },
    time: {
      form: { path: 'event_timestamp', zone: utc, numbers: utc, unit: 'us' },
      from: ['event_timestamp'],
      read: ({ event_timestamp: micros }) => timeOfEpoch(micros, 'us'),
      otherwise: ({ record }) => {
        const got = kindOfTime(record['event_timestamp']);
        return unreadable(`expected event_timestamp in microseconds since 1970, got ${got}`);
      },
    },
    ids: { from: ['user_id', 'user_pseudo_id'], read: (row) => identityOf(row, importsAnonymous) },
    uuid: {
      is: 'parts',
      namespace: namespaceOf('ga4', idKind),
      parts: idParts(),
      otherwise: ({ record, given }) => idOfRow(writer, record, given),
    },
    order: ['event', 'time', 'names', 'ids'],
    properties: [
      { bag: '', names: properties, without: readApart, nothing: [...unset, []], taken: 'replaces', levels: 4, apart },
      { pairs: 'event_params', names: properties, nothing: unset },
      { of: 'members', from: ['items'], add: ({ items }, found) => addItems(writer, found, items), isVaried: true },
      '$set',
    ],
    person: [
      { pairs: 'user_properties', into: '$set', names: namesOf(names.person_properties), nothing: unset },
      {
        of: 'members',
        from: ['user_first_touch_timestamp', 'user_ltv'],
        add: (row, person) => addLifetime(writer, person, row['user_first_touch_timestamp'], row['user_ltv']),
        isVaried: true,
        into: '$set',
      },
    ],
    links: writer.identify,
    usual: { has: ['event_params'], lacks: loaderMarks },
  };
}

function idParts(): readonly IdPart[] {
  const separator = { text: partsSeparator };
  const parts = [...idColumns, ...placeColumns].flatMap((path): IdPart[] => [{ path }, separator]);
  return [...parts, { path: placeColumn, isNeeded: true }];
}

function identityOf(
  { user_id: userId, user_pseudo_id: pseudoId }: Json,
  importsAnonymous: boolean,
): Identity | NoEvents {
  const user = personId(userId);
  const device = personId(pseudoId);
  const distinctId = user ?? device;
  if (distinctId !== undefined) return { distinctId, user, device };
  return importsAnonymous
    ? { distinctId, isNobody: true }
    : skipped('neither user_id nor user_pseudo_id: sent without consent');
}
