import { isObject } from '../../../base/json.ts';
import { objectOf, objectOfJson, setMember, type Json, type Properties } from '../read-values.ts';
import { cellOf, hasLoaderColumn, memberOf, plainRow, type ColumnKinds } from '../warehouse-row.ts';

/**
 * Converts a flat row to an event of the export; `undefined` for other records. Rows come from Mixpanel's Data Pipelines
 * (`event_name`, objects or columns), Fivetran (`name`), and Airbyte and Stitch (`event`).
 */
export function fromWarehouse(record: Json): Json | undefined {
  const marker = nameColumnOf(record);
  if (marker === undefined) return undefined;
  const row = plainRow(record, marker);
  const properties = propertiesOf(row, marker);
  return { event: row[marker], properties };
}

/** Returns the column with the event name; `undefined` if the record is not a warehouse row. */
function nameColumnOf(record: Json): string | undefined {
  if (has(record, 'event_name')) return 'event_name';
  if (has(record, 'event')) return isObject(record['properties']) ? undefined : 'event';
  const isEvent = has(record, 'name') && has(record, 'time') && has(record, 'distinct_id');
  return isEvent && (has(record, 'insert_id') || hasLoaderColumn(record)) ? 'name' : undefined;
}

function has(record: Json, column: string): boolean {
  return record[column] !== undefined || record[column.toUpperCase()] !== undefined;
}

/** Fivetran's number for an event name. */
const numberOfName = 'event_id';

/**
 * Columns for person and time. All others have lower precedence than the members of `properties`, from which loaders create
 * columns.
 */
const leading: ReadonlySet<string> = new Set(['time', 'distinct_id', 'insert_id', 'device_id', 'user_id']);

function propertiesOf(row: Json, marker: string): Properties {
  const text = row['properties'];
  const own = typeof text === 'string' ? objectOfJson(text) : objectOf(text);
  const properties: Properties = { ...own };
  if (own === undefined) properties['properties'] = text;
  for (const column of Object.keys(row)) {
    if (column === marker || column === 'properties' || (column === numberOfName && marker === 'name')) continue;
    const name = memberOf(column, 'properties') ?? exportedName(column);
    if (leading.has(column) || !Object.hasOwn(properties, name))
      setMember(properties, name, cellOf(kinds, column, row[column]));
  }
  return properties;
}

const reserved = 'mp_reserved_';

/** Restores the `$` of Mixpanel's own properties, which warehouses do not allow. */
function exportedName(column: string): string {
  if (column.startsWith(reserved)) return `$${column.slice(reserved.length)}`;
  return ownProperties.has(column) ? `$${column}` : column;
}

const ownProperties: ReadonlySet<string> = new Set(
  `ae_first_app_open_date ae_session_length ae_total_app_session_length ae_total_app_sessions ae_updated_version
  android_app_version android_app_version_code anon_id app_build_number app_release app_version app_version_string
  bluetooth_enabled bluetooth_version brand browser browser_version carrier city current_url device device_id
  distinct_id_before_identity distinct_ids el_id geo_source google_play_services had_persisted_distinct_id has_nfc
  has_telephone identified_id identity_failure_reason import initial_referrer initial_referring_domain insert_id
  ios_app_release
  ios_app_version ios_device_model ios_ifa ios_version is_reshuffled lib_version manufacturer model
  mp_api_endpoint mp_api_timestamp_ms os os_version radio referrer referring_domain region screen_dpi screen_height
  screen_width search_engine user_id wifi`.split(/\s+/),
);

const kinds: ColumnKinds = {
  numbers: new Set(
    'ae_session_length mp_processing_time_ms screen_dpi screen_height screen_width mp_api_timestamp_ms'.split(' '),
  ),
  flags: new Set('bluetooth_enabled had_persisted_distinct_id has_nfc has_telephone wifi'.split(' ')),
  json: new Set(['distinct_ids']),
};
