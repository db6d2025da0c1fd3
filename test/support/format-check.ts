import { expect } from 'vitest';
import { parseExactValues } from '../../src/base/exact-json.ts';
import type { Format, FormatOptions, RecordResult } from '../../src/imports/formats/format.ts';
import type { WireEvent } from '../../src/wire/contract/wire-event.ts';

export function readAll(format: Format, records: readonly unknown[], options: FormatOptions = {}): RecordResult[] {
  const read = format.createReader(options, format.names);
  return records.map((record) => read(record));
}

export function eventsOf(results: readonly RecordResult[]): WireEvent[] {
  return results.flatMap((result) => (result.kind === 'events' ? result.events : []));
}

/** Returns the events of one record; fails without any. */
export function eventsFrom(format: Format, record: unknown, options: FormatOptions = {}): WireEvent[] {
  const [result] = readAll(format, [record], options);
  expect(result).toMatchObject({ kind: 'events' });
  return result === undefined ? [] : eventsOf([result]);
}

/** The only event of a record. */
export function eventFrom(format: Format, record: unknown, options: FormatOptions = {}): WireEvent {
  const events = eventsFrom(format, record, options);
  expect(events).toHaveLength(1);
  const [event] = events;
  if (event === undefined) throw new Error('expected an event');
  return event;
}

/** The last event of a record, after the generated ones. */
export function lastEventFrom(format: Format, record: unknown, options: FormatOptions = {}): WireEvent {
  const event = eventsFrom(format, record, options).at(-1);
  if (event === undefined) throw new Error('expected an event');
  return event;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

/** What holds for every event of every format. */
export function checkEvents(format: Format, events: readonly WireEvent[]): void {
  const faults = events.filter(
    (event) =>
      !uuidPattern.test(event.uuid) ||
      !timePattern.test(event.timestamp) ||
      event.event === '' ||
      event.distinct_id.trim() === '' ||
      // What Millrace exported is imported unchanged.
      (format.slug !== 'millrace' &&
        (event.properties['$geoip_disable'] !== true || event.properties['$import_source'] !== format.slug)),
  );
  expect(faults).toEqual([]);
}

/** Two readers give the same events for the same records, every event is well formed, and no two are stored as one. */
export function checkRecords(format: Format, records: readonly unknown[], options: FormatOptions = {}): RecordResult[] {
  const before = JSON.stringify(records);
  const results = readAll(format, records, options);
  expect(JSON.stringify(readAll(format, records, options))).toBe(JSON.stringify(results));
  expect(JSON.stringify(records)).toBe(before);
  const events = eventsOf(results);
  checkEvents(format, events);
  const keys = events.map((event) => JSON.stringify([event.uuid, event.event, event.distinct_id, event.timestamp]));
  expect(new Set(keys).size).toBe(keys.length);
  return results;
}

/** Results for the example's records besides their events. */
export function eventsOfExample(format: Format): WireEvent[] {
  return eventsOf(readAll(format, format.example.records, format.example.options));
}

/**
 * Reads values that no source writes, alone and in every member of a record that is fine otherwise, and gives what came of
 * the bare ones. Fails if the reader throws, writes an event that is not well formed, or loses one.
 */
export function readHostile(format: Format, record: Readonly<Record<string, unknown>>): RecordResult['kind'][] {
  const prototype: unknown = JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}');
  const deep: unknown = JSON.parse(`${'['.repeat(3000)}${']'.repeat(3000)}`);
  const unusual: unknown[] = [null, undefined, true, 0, -1, NaN, 1e300, '', ' ', '\u0000', 'x'.repeat(100_000), [], {}];
  unusual.push([[]], [null], prototype, deep, { length: 5 }, '{"__proto__":1}', '[', '2024-13-45', 2 ** 60);
  unusual.push(...['12345678901234567890', '-0', '1e400', '0.12345678901234567890'].map(parseExactValues));
  unusual.push(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
  const keys = [...Object.keys(record), '__proto__', 'constructor', 'toString'];
  const records = keys.flatMap((key) =>
    unusual.map((value) => Object.fromEntries([...Object.entries(record), [key, value]])),
  );
  const results = readAll(format, records, format.example.options);
  expect(results).toHaveLength(records.length);
  checkEvents(format, eventsOf(results));
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  return readAll(format, unusual, format.example.options).map((result) => result.kind);
}
