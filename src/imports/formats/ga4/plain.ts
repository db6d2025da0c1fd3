import { namespaceOf, partsSeparator } from '../derived-uuids.ts';
import type { EventWriter } from '../event-writer.ts';
import type { NameTable } from '../format.ts';
import { namesOf, type Names } from '../names.ts';
import { personId } from '../person-id.ts';
import { namedByText, type PlainIdentity, type PlainIdPart, type PlainTable } from '../plain-table.ts';
import type { Properties } from '../read-values.ts';
import { utc } from '../times.ts';
import { loaderMarks } from '../warehouse-row.ts';
import { idColumns, idKind, placeColumn, placeColumns } from './row-id.ts';
import { addItems, addLifetime, readApart, unset } from './row-values.ts';

/** Records of a row that are taken apart, as the schema of the export has them. */
const apart =
  `app_info collected_traffic_source device device.web_info ecommerce event_dimensions geo privacy_info publisher
  session_traffic_source_last_click session_traffic_source_last_click.cm360_campaign
  session_traffic_source_last_click.cross_channel_campaign session_traffic_source_last_click.dv360_campaign
  session_traffic_source_last_click.google_ads_campaign session_traffic_source_last_click.manual_campaign
  session_traffic_source_last_click.sa360_campaign traffic_source`.split(/\s+/);

/** What plain rows of the export become that have their place in the batch. */
export function ga4Plain(writer: EventWriter, names: NameTable): PlainTable {
  const properties = namesOf(names.properties);
  const columns: Names = new Map([...properties, ...[...readApart].map((column) => [column, null] as const)]);
  return {
    source: 'ga4',
    event: ['event_name'],
    eventName: namedByText(writer),
    time: { path: 'event_timestamp', zone: utc, numbers: utc, unit: 'us' },
    ids: { paths: ['user_id', 'user_pseudo_id'], read: identityOf },
    uuid: { is: 'parts', namespace: namespaceOf('ga4', idKind), parts: idParts() },
    properties: [
      { bag: '', names: columns, nothing: [...unset, []], apart },
      { pairs: 'event_params', names: properties, nothing: unset, isNeeded: true },
      { of: 'members', from: ['items'], make: ([items]) => itemsOf(items), isVaried: true },
      '$set',
    ],
    person: [
      { pairs: 'user_properties', into: '$set', names: namesOf(names.person_properties), nothing: unset },
      {
        of: 'members',
        from: ['user_first_touch_timestamp', 'user_ltv'],
        make: ([firstTouch, lifetime]) => lifetimeOf(firstTouch, lifetime),
        isVaried: true,
        into: '$set',
      },
    ],
    odd: loaderMarks,
    identify: writer.identify,
  };

  function itemsOf(items: unknown): Properties {
    const found: Properties = {};
    addItems(writer, found, items);
    return found;
  }

  function lifetimeOf(firstTouch: unknown, lifetime: unknown): Properties {
    const found: Properties = {};
    addLifetime(writer, found, firstTouch, lifetime);
    return found;
  }
}

function idParts(): readonly PlainIdPart[] {
  const separator: PlainIdPart = { text: partsSeparator };
  const parts = [...idColumns, ...placeColumns].flatMap((path): PlainIdPart[] => [{ path }, separator]);
  return [...parts, { path: placeColumn, isNeeded: true }];
}

function identityOf([userId, pseudoId]: readonly unknown[]): PlainIdentity | undefined {
  const user = personId(userId);
  const device = personId(pseudoId);
  const distinctId = user ?? device;
  if (distinctId === undefined) return undefined;
  return {
    distinctId,
    link: user === undefined || device === undefined ? undefined : { user, device },
    properties: {},
  };
}
