import { isObject } from '../../base/json.ts';
import { SourceWaitError } from '../source.ts';
import { decimalJson, doubleJson, embeddedJson, integerJson } from './column-values.ts';

/** A column of a result. https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema */
export interface BigqueryField {
  readonly name: string;
  readonly type: string;
  /** NULLABLE, REQUIRED or REPEATED. */
  readonly mode: string;
  /** Of a RECORD. */
  readonly fields: readonly BigqueryField[];
}

/** Reads `{"fields": […]}`. */
export function fieldsOf(schema: unknown): readonly BigqueryField[] {
  const list: unknown = isObject(schema) ? schema['fields'] : undefined;
  if (!Array.isArray(list)) return [];
  return (list as readonly unknown[]).filter(isObject).map((field) => ({
    name: String(field['name']),
    type: String(field['type']).toUpperCase(),
    mode: String(field['mode'] ?? 'NULLABLE').toUpperCase(),
    fields: fieldsOf(field),
  }));
}

/** Writes a row `{"f": [{"v": …}]}` as a line of JSON. Throws SourceWaitError for a row of another form. */
export function lineOfRow(fields: readonly BigqueryField[], row: unknown): string {
  return `${recordJson(fields, row)}\n`;
}

function recordJson(fields: readonly BigqueryField[], row: unknown): string {
  const cells: unknown = isObject(row) ? row['f'] : undefined;
  if (!Array.isArray(cells) || cells.length !== fields.length) {
    throw new SourceWaitError('BigQuery: expected rows with a value for each column, got others', { unlimited: false });
  }
  const members = fields.map((field, index) => `${JSON.stringify(field.name)}:${cellJson(field, cells[index])}`);
  return `{${members.join(',')}}`;
}

function cellJson(field: BigqueryField, cell: unknown): string {
  const value: unknown = isObject(cell) ? cell['v'] : undefined;
  if (field.mode !== 'REPEATED') return valueJson(field, value);
  const items = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return `[${items.map((item) => cellJson({ ...field, mode: 'NULLABLE' }, item)).join(',')}]`;
}

function valueJson({ type, fields }: BigqueryField, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (type === 'RECORD' || type === 'STRUCT') return recordJson(fields, value);
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  switch (type) {
    case 'INTEGER':
    case 'INT64':
      return integerJson(text);
    case 'NUMERIC':
    case 'BIGNUMERIC':
      return decimalJson(text);
    case 'FLOAT':
    case 'FLOAT64':
      return doubleJson(text);
    case 'BOOLEAN':
    case 'BOOL':
      return text === 'true' ? 'true' : 'false';
    case 'TIMESTAMP':
      return JSON.stringify(timeOf(text));
    case 'JSON':
      return embeddedJson(text);
    // BYTES are base64; DATE, TIME, DATETIME, GEOGRAPHY, INTERVAL and RANGE are texts.
    default:
      return JSON.stringify(text);
  }
}

const microsPerSecond = 1_000_000;

/** Microseconds since the epoch, as requested, or seconds as a float (`1.7092872E9`), the default of the API. */
function timeOf(text: string): string {
  const micros = /^-?\d+$/.test(text) ? BigInt(text) : secondsOf(text);
  if (micros === undefined) return text;
  const million = BigInt(microsPerSecond);
  const rest = ((micros % million) + million) % million;
  const ms = Number((micros - rest) / 1000n);
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return text;
  return `${date.toISOString().slice(0, -'.000Z'.length)}.${String(rest).padStart(6, '0')}Z`;
}

function secondsOf(text: string): bigint | undefined {
  const seconds = Number(text);
  return text.trim() === '' || !Number.isFinite(seconds) ? undefined : BigInt(Math.round(seconds * microsPerSecond));
}
