import { isoOfMicros } from '../events/micros.ts';
import { nothing, type Column, type Row, type RowWriter, type Value } from './columns.ts';

/** One object per line, with times in ISO 8601 and JSON as it is stored: every digit stays. */
export function ndjsonWriter(columns: readonly Column[]): RowWriter {
  const members = columns.map(({ name, type }, at) => ({
    at,
    type,
    key: `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`,
  }));
  const lineOf = (row: Row): string => {
    let line = '';
    for (const { at, type, key } of members) line += key + valueText(row[at] ?? null, type);
    return `${line}}\n`;
  };
  return {
    begin: () => nothing,
    add: (rows) => Buffer.from(rows.map(lineOf).join('')),
    end: () => nothing,
  };
}

function valueText(value: Value, type: Column['type']): string {
  if (typeof value === 'string') return type === 'json' ? oneLine(value) : JSON.stringify(value);
  if (typeof value === 'bigint') return type === 'time' ? `"${isoOfMicros(value)}"` : String(value);
  return String(value);
}

/** Outside of strings, where JSON has no line breaks, they are only layout. */
function oneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]+/g, ' ') : json;
}
