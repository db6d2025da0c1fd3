import { describe, expect, it } from 'vitest';
import { segment } from './segment.ts';
import type { RecordResult } from '../format.ts';

const message = (id: string): Record<string, unknown> => ({
  type: 'track',
  event: 'Order Done',
  messageId: id,
  anonymousId: 'a1',
  originalTimestamp: '2021-03-04T05:06:07.089Z',
});
const time = '2021-03-04T05:06:07Z';
const row = { id: 'm1', event: 'order_done', user_id: 'u1', received_at: time, timestamp: time, context_ip: '::1' };

function readAll(...records: readonly unknown[]): RecordResult[] {
  return records.map(segment.createReader({}, segment.names));
}

function eventsOf(results: readonly RecordResult[]): unknown[] {
  return results.flatMap((result): readonly unknown[] => (result.kind === 'events' ? result.events : [result]));
}

const plain = eventsOf(readAll(message('m1')));

describe('messages wrapped by RudderStack', () => {
  it.each([
    ['an archived job', { UUID: 'j1', EventCount: 1, EventPayload: message('m1') }],
    ['a job of the gateway', { uuid: 'j1', event_payload: { batch: [message('m1')], receivedAt: '2021-03-05' } }],
    ['the input of a transformation', { message: message('m1'), metadata: { jobId: 1 }, destination: {} }],
  ])('%s is read as the message within', (_name, record) => {
    expect(eventsOf(readAll(record))).toEqual(plain);
  });

  it('a job of several messages gives all of them, each under a separate id', () => {
    const job = { event_payload: { batch: [message('m1'), message('m2'), message('m1')] } };
    const alone = eventsOf(readAll(message('m1'), message('m2'), message('m1')));
    expect(eventsOf(readAll(job))).toEqual(alone);
    expect(new Set(alone.map((event) => (event as { uuid: string }).uuid)).size).toBe(3);
  });

  it('a job with an unreadable message is rejected as a whole, and uses up no id', () => {
    const broken = { event_payload: { batch: [message('m1'), { type: 'track', anonymousId: 'a1' }] } };
    const [refused, after] = readAll(broken, message('m1'));
    expect(refused).toEqual({ kind: 'unreadable', reason: 'expected the name of the event in "event"' });
    expect(eventsOf(after === undefined ? [] : [after])).toEqual(plain);
  });

  it('a line of a staging file is a row of the table that it names', () => {
    const staged = (table: string): unknown => ({ data: row, metadata: { table, columns: {} }, userId: '' });
    expect(eventsOf(readAll(staged('tracks')))).toEqual(eventsOf(readAll(row)));
    // The table of the single event has the same row again.
    expect(eventsOf(readAll(staged('tracks'), staged('order_done')))[1]).toMatchObject({ kind: 'skipped' });
    expect(eventsOf(readAll(staged('identifies')))).toMatchObject([{ event: '$identify', distinct_id: 'u1' }]);
  });

  it('a message with members named like those of a job is read as a message', () => {
    const mixed = { ...message('m1'), message: { type: 'page' }, metadata: { table: 't' }, data: {} };
    expect(eventsOf(readAll(mixed))).toEqual(plain);
  });
});
