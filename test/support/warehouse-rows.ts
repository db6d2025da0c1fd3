import type { WireEvent } from '../../src/wire/contract/wire-event.ts';

export type Row = Readonly<Record<string, unknown>>;

/** As a CSV holds a row: texts, JSON texts, and empty ones for nothing. */
export function asCsvRow(row: Row): Row {
  return mapValues(row, (value) => {
    if (value === null || value === undefined) return '';
    return typeof value === 'object' ? JSON.stringify(value) : String(value as string);
  });
}

/** As Snowflake calls columns. */
export function inCapitals(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([key, value]) => [key.toUpperCase(), value]));
}

/** As a warehouse writes a time: UTC, without saying so. */
export function sqlTime(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').slice(0, -1);
}

/** A loader's own columns, other ones at each load. */
export function loadedBy(row: Row, load: number): Row {
  return { _fivetran_id: `f${load}`, _fivetran_synced: sqlTime(load * 1000), _file: `part-${load}.csv`, ...row };
}

/** Without properties that say nothing, which no warehouse keeps. */
export function withoutNulls(events: readonly WireEvent[]): unknown[] {
  return events.map((event) => {
    const said = Object.entries(event.properties).filter(([, value]) => value !== null);
    return Object.assign({}, event, { properties: Object.fromEntries(said) });
  });
}

function mapValues(row: Row, change: (value: unknown) => unknown): Row {
  return Object.fromEntries(Object.entries(row).map(([key, value]) => [key, change(value)]));
}
