import { isoOfMicros } from '../events/micros.ts';
import { nothing, type Column, type Row, type RowWriter, type Value } from './columns.ts';

/**
 * RFC 4180 with a header, UTF-8 without a mark, lines ending in `\n`. Text is always quoted, so that an empty text differs from nothing, and
 * spaces at its ends stay.
 */
export function csvWriter(columns: readonly Column[]): RowWriter {
  const lineOf = (row: Row): string => `${columns.map(({ type }, at) => cellText(row[at] ?? null, type)).join(',')}\n`;
  return {
    begin: () => Buffer.from(`${columns.map(({ name }) => name).join(',')}\n`),
    add: (rows) => Buffer.from(rows.map(lineOf).join('')),
    end: () => nothing,
  };
}

function cellText(value: Value, type: Column['type']): string {
  if (value === null) return '';
  if (typeof value === 'string') return `"${value.includes('"') ? value.replaceAll('"', '""') : value}"`;
  if (typeof value === 'bigint' && type === 'time') return isoOfMicros(value);
  return String(value);
}
