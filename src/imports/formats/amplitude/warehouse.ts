import { isObject } from '../../../base/json.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';
import { cellOf, hasLoaderColumn, isInCapitals, memberOf, plainRow, type ColumnKinds } from '../warehouse-row.ts';

const marker = 'event_type';

/**
 * A row of the table of events, as Amplitude's own warehouse export, Fivetran and other loaders write it, as a line of the
 * Export API; what is one already comes back as it is.
 */
export function exportedRecord(record: Json): Json {
  if (!isWarehouseRow(record)) return record;
  const row = plainRow(record, marker);
  const exported: Properties = {};
  for (const column of Object.keys(row)) {
    const value = cellOf(kinds, column, row[column]);
    const object = objects.find((each) => memberOf(column, each) !== undefined);
    if (object === undefined) setMember(exported, names.get(column) ?? column, value);
    else putInto(exported, object, memberOf(column, object) ?? '', value);
  }
  return exported;
}

/** Objects are texts there, or in columns of their own, or the loader has left its marks. */
function isWarehouseRow(record: Json): boolean {
  if (isInCapitals(record, marker) || hasLoaderColumn(record)) return true;
  const { event_properties: event, user_properties: user } = record;
  return typeof event === 'string' || typeof user === 'string' || (event === undefined && user === undefined);
}

function putInto(exported: Properties, object: string, member: string, value: unknown): void {
  const there = exported[object];
  const members: Properties = isObject(there) ? { ...there } : {};
  if (!Object.hasOwn(members, member)) setMember(members, member, value);
  exported[object] = members;
}

const objects: readonly string[] = ['event_properties', 'user_properties', 'groups'];

/** Columns that are called otherwise than in the export. */
const names: ReadonlyMap<string, string> = new Map([
  ['_insert_id', '$insert_id'],
  ['_insert_key', '$insert_key'],
  ['_schema', '$schema'],
  ['schema', '$schema'],
  ['ad_id', 'adid'],
  ['id', 'event_id'],
  ['insert_id', '$insert_id'],
]);

const kinds: ColumnKinds = {
  numbers: new Set('amplitude_id app event_id id location_lat location_lng sample_rate session_id'.split(' ')),
  flags: new Set(['is_attribution_event', 'paying']),
  json: new Set('data event_properties global_user_properties group_properties groups plan user_properties'.split(' ')),
};
