import { valueText } from '../../components/one-line.ts';
import type { StoredEvent } from '../../api/stored-events.ts';

/** One event a line, as the API gives it; every digit of large integers is kept. */
export function toNdjson(events: readonly StoredEvent[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('');
}

/** The events with a column for each property that one of them has. */
export function toCsv(events: readonly StoredEvent[]): string {
  const names = [...new Set(events.flatMap(({ properties }) => Object.keys(properties)))].sort();
  const head = ['uuid', 'event', 'distinct_id', 'timestamp', 'historical_migration', ...names];
  const lines = events.map((event) => [
    event.id,
    event.event,
    event.distinct_id,
    event.timestamp,
    event.historical_migration,
    ...names.map((name) => event.properties[name]),
  ]);
  return [head, ...lines].map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/** RFC 4180. Texts that a spreadsheet would run as a formula get an apostrophe before them. */
function csvCell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const plain = valueText(value);
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Gives the text to the browser as a file. */
export function saveFile(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
