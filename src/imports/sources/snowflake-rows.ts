import { isObject } from '../../base/json.ts';
import { SourceWaitError } from '../source.ts';
import { decimalJson, doubleJson, embeddedJson, integerJson } from './column-values.ts';

/** A column of a result. https://docs.snowflake.com/en/developer-guide/sql-api/handling-responses */
export interface SnowflakeColumn {
  readonly name: string;
  /** fixed, real, text, boolean, date, time, timestamp_ntz, variant, … */
  readonly type: string;
  /** Digits after the point. */
  readonly scale: number;
}

export function columnsOf(rowType: unknown): readonly SnowflakeColumn[] {
  if (!Array.isArray(rowType)) return [];
  return (rowType as readonly unknown[]).filter(isObject).map((column) => ({
    name: String(column['name']),
    type: String(column['type']).toLowerCase(),
    scale: Number(column['scale'] ?? 0),
  }));
}

/** Writes a row, a list of texts, as a line of JSON. Throws SourceWaitError for a row of another form. */
export function lineOfRow(columns: readonly SnowflakeColumn[], row: unknown): string {
  if (!Array.isArray(row) || row.length !== columns.length) {
    throw new SourceWaitError('Snowflake: expected rows with a value for each column, got others', {
      unlimited: false,
    });
  }
  const cells: readonly unknown[] = row;
  const members = columns.map((column, index) => `${JSON.stringify(column.name)}:${valueJson(column, cells[index])}`);
  return `{${members.join(',')}}\n`;
}

function valueJson({ type, scale }: SnowflakeColumn, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  switch (type) {
    case 'fixed':
      return scale === 0 ? integerJson(text) : decimalJson(text);
    case 'real':
      return doubleJson(text);
    case 'boolean':
      return /^(true|1)$/i.test(text) ? 'true' : 'false';
    case 'date':
      return JSON.stringify(dateOf(text));
    case 'time':
      return JSON.stringify(clockOf(text));
    case 'timestamp_ntz':
      return JSON.stringify(timeOf(text, ''));
    case 'timestamp_ltz':
    case 'timestamp_tz':
      return JSON.stringify(timeOf(text, 'Z'));
    case 'variant':
    case 'object':
    case 'array':
    case 'geography':
    case 'geometry':
    case 'map':
    case 'vector':
      return embeddedJson(text);
    case 'binary':
      return JSON.stringify(/^([\da-f]{2})*$/i.test(text) ? Buffer.from(text, 'hex').toString('base64') : text);
    default:
      return JSON.stringify(text);
  }
}

/** Days since the epoch. */
function dateOf(text: string): string {
  if (!/^-?\d+$/.test(text)) return text;
  const date = new Date(Number(text) * 86_400_000);
  return Number.isNaN(date.getTime()) ? text : date.toISOString().slice(0, 10);
}

/** Seconds since midnight, with nine digits. */
function clockOf(text: string): string {
  const found = secondsOf(text);
  return found === undefined ? text : `${new Date(found.seconds * 1000).toISOString().slice(11, 19)}${found.fraction}`;
}

/**
 * Seconds since the epoch with nine digits; with the zone of the value behind them, which does not change the moment
 * (`1616173619.000000000 960`). NTZ is a time without a zone: its seconds are those of UTC with the same digits.
 */
function timeOf(text: string, suffix: string): string {
  const found = secondsOf(text.replace(/ \d+$/, ''));
  if (found === undefined) return text;
  const date = new Date(found.seconds * 1000);
  return Number.isNaN(date.getTime()) ? text : `${date.toISOString().slice(0, 19)}${found.fraction}${suffix}`;
}

/** Splits without rounding: nanoseconds exceed a double. Negative seconds have a positive fraction afterwards. */
function secondsOf(text: string): { readonly seconds: number; readonly fraction: string } | undefined {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', digits = ''] = match;
  const nanos = BigInt(`${sign}${whole}${digits.padEnd(9, '0')}`);
  const billion = 1_000_000_000n;
  const rest = ((nanos % billion) + billion) % billion;
  const fraction = String(rest)
    .padStart(9, '0')
    .replace(/(000){1,3}$/, '');
  return { seconds: Number((nanos - rest) / billion), fraction: fraction === '' ? '' : `.${fraction}` };
}
