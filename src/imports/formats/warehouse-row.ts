import { asNumber, setMember, valueOfJson, type Json, type Properties } from './read-values.ts';

/**
 * Rows as warehouse loaders (Fivetran, Airbyte, Stitch, dlt, …) and dbt packages write them: one column per property in
 * snake_case, objects as JSON text, missing values as null or empty text, and the loader's own columns.
 */

/** Whether a loader wrote the row: loaders always add a column. */
export function hasLoaderColumn(row: Json): boolean {
  for (const column of loaderMarks) if (row[column] !== undefined) return true;
  return false;
}
export const loaderMarks: ReadonlySet<string> = new Set(
  ['_fivetran_synced', '_FIVETRAN_SYNCED', '_airbyte_extracted_at', '_airbyte_emitted_at'].concat([
    '_sdc_batched_at',
    '_dlt_load_id',
  ]),
);

/** Columns that describe the load. They differ between loads, so ids must not be derived from them. */
const loaderColumn = /^_+(fivetran|airbyte|ab|sdc|dlt|estuary|hevo|portable|rivery|file|line|modified)(_|$)/;

/**
 * Returns a row without the loader's columns and empty values. `marker`: a column that every row has; if it is in capitals, as in
 * Snowflake, all columns are converted to lower case.
 */
export function plainRow(row: Json, marker: string): Properties {
  const isCapital = isInCapitals(row, marker);
  const plain: Properties = {};
  for (const key of Object.keys(row)) {
    const value = row[key];
    if (value === null || value === undefined || value === '') continue;
    const column = isCapital ? key.toLowerCase() : key;
    if (column.startsWith('_') && loaderColumn.test(column)) continue;
    setMember(plain, column, value);
  }
  return plain;
}

export function isInCapitals(row: Json, marker: string): boolean {
  return row[marker] === undefined && row[marker.toUpperCase()] !== undefined;
}

/** Converts the SQL words for true and false; other values stay. */
function asFlag(value: unknown): unknown {
  if (typeof value !== 'string' || value.length > 5) return value;
  const word = value.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : value;
}

/** Columns that are not text, although a CSV contains only text. */
export interface ColumnKinds {
  readonly numbers: ReadonlySet<string>;
  readonly flags: ReadonlySet<string>;
  readonly json: ReadonlySet<string>;
}

/** Converts a value to the column's kind, as in the tool's own export. A value that does not fit stays. */
export function cellOf(kinds: ColumnKinds, column: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (kinds.numbers.has(column)) return asNumber(value);
  if (kinds.flags.has(column)) return asFlag(value);
  return kinds.json.has(column) ? (valueOfJson(value) ?? value) : value;
}

/**
 * Returns the member name of a column such as `event_properties__plan`, as some loaders flatten objects; `undefined` for other
 * columns.
 */
export function memberOf(column: string, object: string): string | undefined {
  return column.startsWith(`${object}__`) && column.length > object.length + 2
    ? column.slice(object.length + 2)
    : undefined;
}
