import { textTime } from '../times.ts';
import { setMember, type Json, type Properties } from '../read-values.ts';
import { cellOf, hasLoaderColumn, isInCapitals, memberOf, plainRow, type ColumnKinds } from '../warehouse-row.ts';

/**
 * Converts a row of a flattened table to a row of the BigQuery export, from Fivetran (`name`, `timestamp`, `param_…`) or from dbt
 * packages and loaders (`event_name`, one column per parameter). Other records stay.
 */
export function exportedRow(record: Json): Json {
  const marker = nameColumnOf(record);
  if (marker === undefined) return record;
  const row = plainRow(record, marker);
  const exported: Properties = {};
  const parameters: Properties[] = [];
  const ofUser: Properties[] = [];
  for (const column of Object.keys(row)) {
    const value = cellOf(kinds, column, row[column]);
    const parameter = memberOf(column, 'event_params') ?? after(column, 'param_');
    const userProperty = memberOf(column, 'user_properties') ?? after(column, 'user_property_') ?? lifetime(column);
    if (parameter !== undefined) parameters.push({ key: parameter, value: asNumberOf(parameter, value) });
    else if (userProperty !== undefined) ofUser.push({ key: userProperty, value: asNumberOf(userProperty, value) });
    else
      setMember(exported, (marker === 'name' ? names.get(column) : undefined) ?? column.replaceAll('__', '_'), value);
  }
  if (parameters.length > 0) exported['event_params'] ??= parameters;
  if (ofUser.length > 0) exported['user_properties'] ??= ofUser;
  for (const column of times) if (exported[column] !== undefined) exported[column] = microsOf(exported[column]);
  return exported;
}

/** Returns the column with the event name; `undefined` for rows in the form of BigQuery. */
function nameColumnOf(record: Json): string | undefined {
  if (record['event_name'] !== undefined) {
    const isFlat = hasLoaderColumn(record) || !Array.isArray(record['event_params']);
    return isFlat ? 'event_name' : undefined;
  }
  if (isInCapitals(record, 'event_name')) return 'event_name';
  return has(record, 'name') && has(record, 'timestamp') && has(record, 'user_pseudo_id') ? 'name' : undefined;
}

function has(record: Json, column: string): boolean {
  return record[column] !== undefined || record[column.toUpperCase()] !== undefined;
}

function after(column: string, prefix: string): string | undefined {
  return column.startsWith(prefix) && column.length > prefix.length ? column.slice(prefix.length) : undefined;
}

/** Returns columns of the person such as `user_ltv_revenue`. */
function lifetime(column: string): string | undefined {
  return column.startsWith('user_ltv_') ? column : undefined;
}

/** Fivetran's names for columns of the export. */
const names: ReadonlyMap<string, string> = new Map([
  ['bundle_sequence_id', 'event_bundle_sequence_id'],
  ['date', 'event_date'],
  ['name', 'event_name'],
  ['previous_timestamp', 'event_previous_timestamp'],
  ['server_timestamp_offset', 'event_server_timestamp_offset'],
  ['timestamp', 'event_timestamp'],
  ['value_in_usd', 'event_value_in_usd'],
]);

const times = ['event_timestamp', 'user_first_touch_timestamp'] as const;

/** Converts a time to microseconds since 1970 as in BigQuery, so that the same event has the same id. Other values stay. */
function microsOf(value: unknown): unknown {
  const iso = textTime(value);
  if (iso === undefined) return value;
  const micros = iso.length > 24 ? Number(iso.slice(23, -1)) : 0;
  return Date.parse(`${iso.slice(0, 23)}Z`) * 1000 + micros;
}

const numbers: ReadonlySet<string> = new Set(
  `batch_event_index engagement_time_msec ga_session_number ecommerce_purchase_revenue
  ecommerce_purchase_revenue_in_usd ecommerce_refund_value ecommerce_refund_value_in_usd ecommerce_shipping_value
  ecommerce_shipping_value_in_usd ecommerce_tax_value ecommerce_tax_value_in_usd ecommerce_total_item_quantity
  ecommerce_unique_items entrances event_value_in_usd percent_scrolled tax shipping user_ltv_revenue value value_in_usd
  video_current_time
  video_duration video_percent`.split(/\s+/),
);

function asNumberOf(parameter: string, value: unknown): unknown {
  return cellOf({ ...kinds, numbers }, parameter, value);
}

const kinds: ColumnKinds = {
  numbers,
  flags: new Set(['engaged_session_event', 'is_active_user', 'is_intraday', 'is_limited_ad_tracking']),
  json: new Set(
    `app_info collected_traffic_source device ecommerce event_dimensions event_params geo items privacy_info
    session_traffic_source_last_click traffic_source user_ltv user_properties`.split(/\s+/),
  ),
};
