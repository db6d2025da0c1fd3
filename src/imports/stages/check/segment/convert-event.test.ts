import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanLimits } from '../../../../wire/batch/limits.ts';
import { scanBatch } from '../../../../wire/batch/scan.ts';
import { parseTimestamp } from '../../../../wire/batch/timestamps.ts';
import { validateEvent } from '../../../../wire/batch/validate.ts';
import type { WireEvent } from '../../../../wire/contract/wire-event.ts';
import { createConverter } from './convert-event.ts';
import { createTimeReader } from './event-times.ts';
import { isoOfMicros } from '../../../../base/clock.ts';

const now = Date.parse('2026-11-20T10:00:00Z');
const eventBytesMax = 4000;
const convert = createConverter({
  runId: 'r',
  eventBytesMax,
  now: () => now,
  names: { onKey: () => {}, onNestedKey: () => {} },
});

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', ' ', '\0', '\ud800', 'x'.repeat(200), 'x'.repeat(201), '😀'.repeat(200), '\u00a0', '$set', '"'),
);
const timestamps = fc.oneof(
  fc.constantFrom('2024-02-30T00:00:00Z', '2024-03-01T24:00:00Z', '2024-03-01T12:00:60Z', '1899-12-31T23:59:59Z', ''),
  fc.constantFrom('2024-03-01 12:00:00', '2024-03-01T12:00:00+02:00', '1700000000', '2026-11-22T00:00:00Z', 'soon'),
  fc
    .date({ min: new Date('1890-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
);
const values = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('x'.repeat(5000), 'é'.repeat(1900)),
  fc.integer({ min: 40, max: 70 }).map(nested),
);
const wireEvents = fc.record({
  uuid: fc.oneof(
    { weight: 5, arbitrary: fc.uuid() },
    fc.constantFrom('', 'no-uuid', '0190A000-0000-4000-8000-00000000000F'),
  ),
  event: texts,
  distinct_id: texts,
  timestamp: timestamps,
  properties: fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('$cookieless_mode', '$set', '$import_run_id')),
    values,
  ),
});

/** Returns the verdict of ingest on an event as sent. */
function ingestOf(json: string): string {
  const scan = scanBatch(Buffer.from(`[${json}]`), scanLimits(eventBytesMax));
  const verdict = validateEvent(scan, 0, 'historical', now);
  return verdict.ok ? 'ok' : verdict.code;
}

function marked(event: WireEvent): string {
  return JSON.stringify({ ...event, properties: { ...event.properties, $geoip_disable: true, $import_run_id: 'r' } });
}

describe('converted events', () => {
  it.each([
    [
      '$identify',
      { $anon_distinct_id: 'a', $process_person_profile: false },
      'invalid_event_when_process_person_profile_is_false',
    ],
    ['$groupidentify', { $group_type: 'team', $group_key: 't1', $group_set: 'pro' }, 'invalid_group_set'],
    ['$groupidentify', { $group_type: 'team', $group_key: 't1', $group_set: [] }, undefined],
    ['seen', { $process_person_profile: false, $group_set: 'pro' }, undefined],
  ])('%s that the pipeline would refuse is refused before a row is written: %j', (event, properties, code) => {
    const uuid = '0190a000-0000-4000-8000-00000000000f';
    const timestamp = '2024-03-01T12:00:00Z';
    const converted = convert({ uuid, event, distinct_id: 'u1', timestamp, properties });
    expect(converted.kind === 'refused' ? converted.code : undefined).toBe(code);
  });

  it('are refused exactly if ingest refuses them, with the same code, and accepted by ingest when ready', () => {
    fc.assert(
      fc.property(wireEvents, (event) => {
        const converted = convert(event);
        // A rewritten time or id may move an event across the size limit.
        const isOnEdge = Math.abs(Buffer.byteLength(marked(event)) - eventBytesMax) < 100;
        const verdict = isOnEdge && converted.kind === 'refused' ? converted.code : ingestOf(marked(event));
        // Ingest assigns a uuid if it is empty.
        const expected = verdict === 'ok' && event.uuid === '' ? 'invalid_event_uuid' : verdict;
        expect(converted.kind === 'ready' ? 'ok' : converted.code).toBe(
          isOnEdge && converted.kind === 'ready' ? 'ok' : expected,
        );
        expect(converted.kind === 'ready' ? ingestOf(converted.json) : 'ok').toBe('ok');
      }),
      { numRuns: 1000 },
    );
  });

  it('an event that exceeds the limit only with its full time is refused as too large', () => {
    const event = {
      uuid: '0190a000-0000-4000-8000-000000000001',
      event: 'e',
      distinct_id: 'u',
      timestamp: '2024-03-01',
    };
    const room = eventBytesMax - Buffer.byteLength(marked({ ...event, properties: { a: '' } }));
    const full = { ...event, properties: { a: 'x'.repeat(room) } };
    expect(ingestOf(marked(full))).toBe('ok');
    expect(convert(full)).toMatchObject({ kind: 'refused', code: 'event_too_large' });
    expect(convert({ ...full, properties: { a: 'x'.repeat(room - 20) } }).kind).toBe('ready');
  });

  it('keep everything except the form of time, uuid and overlong ids, and contain the marks of the run', () => {
    fc.assert(
      fc.property(wireEvents, (event) => {
        const converted = convert(event);
        if (converted.kind === 'refused') return true;
        const sent = JSON.parse(converted.json) as WireEvent;
        expect(sent).toEqual({
          ...(JSON.parse(marked(event)) as WireEvent),
          uuid: event.uuid.toLowerCase(),
          event: converted.event,
          distinct_id: converted.distinctId,
          timestamp: sent.timestamp,
        });
        return (
          parseTimestamp(sent.timestamp) === converted.micros && parseTimestamp(event.timestamp) === converted.micros
        );
      }),
      { numRuns: 1000 },
    );
  });
});

describe('times of events', () => {
  it('are parsed as in ingest, and written so that they parse to the same microsecond', () => {
    const read = createTimeReader();
    const digits = fc.stringMatching(/^(19|20|99)\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-6]\d:[0-6]\d(\.\d{0,10})?Z?$/);
    fc.assert(
      fc.property(fc.oneof(digits, timestamps), (text) => {
        const time = read(text);
        expect(time?.micros).toBe(parseTimestamp(text));
        expect(time === undefined ? undefined : parseTimestamp(time.text)).toBe(time?.micros);
      }),
      { numRuns: 1000 },
    );
    expect(isoOfMicros(-1)).toBe('1969-12-31T23:59:59.999999Z');
  });
});
