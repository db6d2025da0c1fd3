import { describe, expect, it } from 'vitest';
import { ownTime, resolveTimestamp, type EventTime, type TimeQuestion } from './event-time.ts';
import { scanBatch } from './scan.ts';

const receivedAt = Date.parse('2026-11-20T12:00:00Z');
const at = (iso: string): number => Date.parse(iso) * 1000;
const arrival = receivedAt * 1000;
const resolve = (question: Partial<TimeQuestion>): EventTime =>
  resolveTimestamp({ lane: 'live', receivedAt, timestamp: undefined, ...question });
const sent = (iso: string): number => Date.parse(iso);
const v7 = `${(receivedAt - 60_000)
  .toString(16)
  .padStart(12, '0')
  .replace(/(.{8})/, '$1-')}-7000-8000-000000000000`;

describe('live events', () => {
  it.each<[string, Partial<TimeQuestion>, number, EventTime['warning']]>([
    ['no time', {}, arrival, undefined],
    ['a time, no sent_at', { timestamp: '2026-11-20T11:00:00Z' }, at('2026-11-20T11:00:00Z'), undefined],
    [
      'a client clock 10 s ahead',
      { timestamp: '2026-11-20T11:00:00Z', sentAt: sent('2026-11-20T12:00:10Z') },
      at('2026-11-20T10:59:50Z'),
      undefined,
    ],
    [
      'a client clock 10 s behind',
      { timestamp: '2026-11-20T11:00:00Z', sentAt: sent('2026-11-20T11:59:50Z') },
      at('2026-11-20T11:00:10Z'),
      undefined,
    ],
    [
      '$ignore_sent_at',
      { timestamp: '2026-11-20T11:00:00Z', sentAt: sent('2026-11-20T11:59:50Z'), ignoreSentAt: true },
      at('2026-11-20T11:00:00Z'),
      undefined,
    ],
    ['an offset', { offset: 1500 }, arrival - 1_500_000, undefined],
    ['an offset and a time', { offset: 1500, timestamp: '2020-01-01T00:00:00Z' }, arrival - 1_500_000, undefined],
    ['22 h ahead', { timestamp: '2026-11-21T10:00:00Z' }, at('2026-11-21T10:00:00Z'), undefined],
    ['24 h ahead', { timestamp: '2026-11-21T12:00:00Z' }, arrival, 'event_timestamp_in_future'],
    ['an offset into the future', { offset: -1e9 }, arrival, 'event_timestamp_in_future'],
    ['a text that is not a date', { timestamp: 'not a date' }, arrival, 'ignored_invalid_timestamp'],
    ['neither a string nor a number', { timestamp: 'unreadable' }, arrival, 'ignored_invalid_timestamp'],
    ['the year 1899', { timestamp: '1899-12-31T00:00:00Z' }, arrival, 'ignored_invalid_timestamp'],
    ['the year 9999', { timestamp: '9999-01-01T00:00:00Z' }, arrival, 'ignored_invalid_timestamp'],
    ['1970', { timestamp: '1970-01-01T00:00:00Z' }, 0, undefined],
    ['an offset of centuries', { offset: 1e14 }, arrival, 'ignored_invalid_timestamp'],
  ])('%s', (_name, question, micros, warning) => {
    expect(resolve(question)).toMatchObject({ micros, warning });
  });

  it('a retried body changes the event time but not the identity time', () => {
    const question = { timestamp: '2026-11-20T11:00:00Z', sentAt: sent('2026-11-20T12:00:00Z') };
    const first = resolve(question);
    const second = resolve({ ...question, receivedAt: receivedAt + 1500 });
    expect(second.micros - first.micros).toBe(1_500_000);
    expect(second.keyMicros).toBe(first.keyMicros);
    expect(first.keyMicros).toBe(at('2026-11-20T11:00:00Z'));
  });

  it('without a timestamp the identity time is that of a version 7 uuid, or else the event time', () => {
    expect(resolve({ uuid: v7 }).keyMicros).toBe(arrival - 60_000_000);
    expect(resolve({ uuid: v7.replace('-7000-', '-4000-') }).keyMicros).toBe(arrival);
    expect(resolve({ uuid: v7, timestamp: 'not a date' }).keyMicros).toBe(arrival - 60_000_000);
    expect(resolve({ offset: 1000 }).keyMicros).toBe(arrival - 1_000_000);
  });
});

describe('historical events', () => {
  const lane = 'historical' as const;
  it('keep the exact time of their source, without correction or offset', () => {
    const question = {
      lane,
      timestamp: '2019-05-01T00:00:00.123456Z',
      sentAt: sent('2026-11-20T11:00:00Z'),
      offset: 5000,
    };
    const expected = at('2019-05-01T00:00:00.123Z') + 456;
    expect(resolve(question)).toEqual({ micros: expected, warning: undefined, keyMicros: expected });
  });
  it('without a time get the time of receipt, with a warning', () => {
    expect(resolve({ lane })).toMatchObject({ micros: arrival, warning: 'historical_timestamp_missing' });
  });
});

describe("an event's own time", () => {
  const own = (json: string): ReturnType<typeof ownTime> =>
    ownTime(scanBatch(Buffer.from(`[{${json}}]`), { eventBytesMax: 1e6, depthMax: 64, keysMax: 1e4 }), 0);
  it.each<[string, ReturnType<typeof ownTime>]>([
    ['', undefined],
    ['"timestamp":null', undefined],
    ['"timestamp":"2026-11-20T11:00:00Z"', at('2026-11-20T11:00:00Z')],
    ['"timestamp":"2026-11-20T11:00:00\\u005a"', at('2026-11-20T11:00:00Z')],
    ['"timestamp":"20 Nov 2026 11:00:00 GMT"', at('2026-11-20T11:00:00Z')],
    ['"timestamp":1795172400', 1_795_172_400_000_000],
    ['"timestamp":1.7951724e9', 1_795_172_400_000_000],
    ['"timestamp":1e999', 'unreadable'],
    ['"timestamp":true', 'unreadable'],
    ['"timestamp":{}', 'unreadable'],
    ['"timestamp":""', 'unreadable'],
  ])('{%s}', (json, expected) => {
    expect(own(json)).toBe(expected);
  });
});
