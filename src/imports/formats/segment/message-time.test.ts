import { describe, expect, it } from 'vitest';
import type { RecordResult } from '../format.ts';
import { segment } from './segment.ts';

const message = { type: 'track', event: 'fast clock', userId: 'u', messageId: '1' };
const times = { originalTimestamp: '2024-01-01T10:00:00.000Z', sentAt: '2024-01-01T10:00:05.000Z' };
const receivedAt = '2024-01-01T08:00:05.100Z';

function readAll(record: unknown): RecordResult {
  return segment.createReader({}, segment.names)(record);
}

function timesOf(result: RecordResult): readonly unknown[] {
  return result.kind === 'events' ? result.events.map(({ timestamp }) => timestamp) : [result];
}

describe('the time of a message without a timestamp', () => {
  it.each([
    ['a fast clock', times, '2024-01-01T08:00:00.100Z'],
    ['2049', { originalTimestamp: '2049-01-01T10:00:00Z', sentAt: '2049-01-01T10:00:05Z' }, '2024-01-01T08:00:00.100Z'],
    ['1970', { originalTimestamp: '1970-01-01T00:00:10Z', sentAt: '1970-01-01T00:00:15Z' }, '2024-01-01T08:00:00.100Z'],
    ['an event that waited', { ...times, originalTimestamp: '2023-12-31T10:00:00Z' }, '2023-12-31T08:00:00.100Z'],
  ])('is corrected by the times at which it was sent and received: %s', (_, given, expected) => {
    const result = readAll({ ...message, ...given, receivedAt });
    expect(timesOf(result)).toEqual([expected]);
    expect(result.notes).toEqual([{ of: 'segment_clock_corrected', sample: expected }]);
  });

  it.each([
    [{ originalTimestamp: times.originalTimestamp }, times.originalTimestamp],
    [{ ...times }, times.originalTimestamp],
    [{ originalTimestamp: times.originalTimestamp, receivedAt }, times.originalTimestamp],
    [{ sentAt: times.sentAt, receivedAt }, receivedAt],
    [{ sentAt: times.sentAt }, times.sentAt],
    [{ ...times, receivedAt, timestamp: '2024-01-01T09:00:00Z' }, '2024-01-01T09:00:00Z'],
  ])('%j gives %s', (given, expected) => {
    expect(timesOf(readAll({ ...message, ...given }))).toEqual([expected]);
  });

  it('a batch gives the time and address of receipt once', () => {
    const batch = { batch: [{ ...message, ...times }], receivedAt, requestIP: '192.0.2.4', writeKey: 'w' };
    for (const record of [batch, { uuid: 'j1', event_payload: batch }]) {
      const result = readAll(record);
      expect(timesOf(result)).toEqual(['2024-01-01T08:00:00.100Z']);
      expect(result.kind === 'events' && result.events[0]?.properties).toMatchObject({ $ip: '192.0.2.4' });
    }
  });

  it('rows of a warehouse are corrected in the same way', () => {
    const row = { id: 'm1', event: 'done', user_id: 'u', received_at: receivedAt, sent_at: times.sentAt };
    expect(timesOf(readAll({ ...row, original_timestamp: times.originalTimestamp }))).toEqual([
      '2024-01-01T08:00:00.100Z',
    ]);
  });
});
