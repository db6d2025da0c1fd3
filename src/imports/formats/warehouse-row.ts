import { asNumber, setMember, valueOfJson, type Json, type Properties } from './read-values.ts';

/**
 * Rows as warehouse loaders (Fivetran, Airbyte, Stitch, dlt, …) and dbt packages write them: a column per property in
 * snake_case, objects as JSON text, nothing as null or an empty text, columns of the loader's own.
 */

/** Whether a loader has written the row: it always leaves a column of its own. */
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

/** About the load, not about the event: each load has others, so that an id may not follow from them. */
const loaderColumn = /^_+(fivetran|airbyte|ab|sdc|dlt|estuary|hevo|portable|rivery|file|line|modified)(_|$)/;

/**
 * A row without what the loader added and without what is empty. `marker`: a column that every row has; where it is in
 * capitals, as Snowflake writes them, all are put in lower case.
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

/** What a text says where it is one of the words of SQL for true and false; anything else as it is. */
function asFlag(value: unknown): unknown {
  if (typeof value !== 'string' || value.length > 5) return value;
  const word = value.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : value;
}

/** Columns of a tool that are more than texts, though a CSV knows nothing else. */
export interface ColumnKinds {
  readonly numbers: ReadonlySet<string>;
  readonly flags: ReadonlySet<string>;
  readonly json: ReadonlySet<string>;
}

/** The value of a column as the tool itself exports it. What cannot be read as its kind stays as it is. */
export function cellOf(kinds: ColumnKinds, column: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (kinds.numbers.has(column)) return asNumber(value);
  if (kinds.flags.has(column)) return asFlag(value);
  return kinds.json.has(column) ? (valueOfJson(value) ?? value) : value;
}

/** `event_properties__plan`, as some loaders write the members of an object; undefined: no such column. */
export function memberOf(column: string, object: string): string | undefined {
  return column.startsWith(`${object}__`) && column.length > object.length + 2
    ? column.slice(object.length + 2)
    : undefined;
}
