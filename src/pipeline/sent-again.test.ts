import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBench, receivedAt, type Bench } from '../../test/support/pipeline.ts';

const uuid = '0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b';
const order = {
  event: 'order',
  distinct_id: 'u',
  uuid,
  timestamp: '2026-11-20T11:00:00Z',
  properties: { v: 1 },
};

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(() => bench[Symbol.asyncDispose]());

async function warningsOf(type: string): Promise<{ count: number; samples: unknown } | undefined> {
  const row = await bench.db
    .selectFrom('ingestion_warnings')
    .select(['count', 'samples'])
    .where('type', '=', type)
    .executeTakeFirst();
  return row && { count: Number(row.count), samples: JSON.parse(row.samples) as unknown };
}

describe.each(['live', 'historical'] as const)('an event that is sent again, %s', (lane) => {
  const send = async (...events: readonly object[]): Promise<void> => {
    for (const event of events) await bench.append(lane, { batch: [event] });
    await bench.drain();
  };

  it('with other properties, or another time of day, is reported with its uuid', async () => {
    await send(
      order,
      { ...order, properties: { v: 2 } },
      { ...order, uuid: uuid, timestamp: '2026-11-20T11:00:01Z' },
      // As an object instead of bytes.
      { ...order, properties: { $set: { name: 'Ada' } } },
    );
    expect(await warningsOf('sent_again_with_other_content')).toEqual({
      count: 3,
      samples: [{ eventUuid: uuid }, { eventUuid: uuid }, { eventUuid: uuid }],
    });
  });

  it('unchanged, with another name, id or day, or without a uuid is not reported', async () => {
    const { uuid: _uuid, ...nameless } = order;
    await send(
      order,
      order,
      { ...order, event: 'other', properties: { v: 2 } },
      { ...order, distinct_id: 'w', properties: { v: 2 } },
      { ...order, timestamp: '2026-11-19T11:00:00Z' },
      nameless,
      { ...nameless, properties: { v: 2 } },
    );
    expect(await warningsOf('sent_again_with_other_content')).toBeUndefined();
  });
});

it('events of an import that are sent again are not reported: check and verify compare them', async () => {
  for (const run of ['one', 'two']) {
    await bench.append('historical', { batch: [{ ...order, properties: { v: 1, $import_run_id: run } }] });
  }
  await bench.drain();
  expect(await warningsOf('sent_again_with_other_content')).toBeUndefined();
});

describe('clock skew', () => {
  const send = async (sentAt: number, event: object): Promise<void> => {
    await bench.append('live', { batch: [event] }, { sentAt });
    await bench.drain();
  };
  const details = { eventUuid: uuid, distinctId: 'u', timestamp: '2026-11-20T11:00:00Z' };

  it.each([
    ['as bytes', order],
    ['as an object', { ...order, properties: { $set: { a: 1 } } }],
  ])('of more than 30 s is reported with each corrected event, %s', async (_how, event) => {
    await send(receivedAt - 31_000, event);
    expect(await warningsOf('clock_skew_corrected')).toEqual({ count: 1, samples: [details] });
    expect(bench.recording.rows[0]?.micros).toBe(Date.UTC(2026, 10, 20, 11, 0, 31) * 1000);
  });

  it('of up to 30 s is not reported, nor is an event that was not corrected', async () => {
    await send(receivedAt - 30_000, order);
    await send(receivedAt - 31_000, { ...order, properties: { $ignore_sent_at: true } });
    await send(receivedAt - 31_000, { ...order, offset: 5 });
    const { timestamp: _time, ...timeless } = order;
    await send(receivedAt - 31_000, timeless);
    expect(await warningsOf('clock_skew_corrected')).toBeUndefined();
  });
});
