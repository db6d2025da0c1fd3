import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBench, receivedAt, type Bench } from '../../../test/support/pipeline.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(() => bench[Symbol.asyncDispose]());

const line = { event: 'line', distinct_id: 'p', timestamp: '2021-01-02T03:04:05Z', properties: { a: 1 } };

describe('events without a uuid', () => {
  it('live: version 7 with the time of the event, different for each', async () => {
    await bench.append('live', {
      batch: [{ ...line, timestamp: new Date(receivedAt - 5000).toISOString() }, line, line],
    });
    await bench.append('live', { batch: [line] });
    await bench.drain();
    const uuids = bench.recording.rows.map((row) => row.uuid);
    expect(new Set(uuids).size).toBe(4);
    for (const each of uuids) expect(each).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(Number.parseInt((uuids[0] ?? '').replace('-', '').slice(0, 12), 16)).toBe(receivedAt - 5000);
  });

  it('historical: equal lines of one batch are all stored, and repeating the batch changes nothing', async () => {
    const batch = [line, { ...line, properties: { a: 2 } }, line, { ...line, $set: { b: 1 } }, line];
    await bench.append('historical', { batch }, { events: 5 });
    await bench.drain();
    const first = bench.recording.rows.map((row) => row.uuid);
    expect(new Set(first).size).toBe(5);
    for (const each of first) expect(each).toMatch(/^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    await bench.append('historical', { batch }, { events: 5, receivedAt: receivedAt + 60_000, encoding: 'gzip' });
    await bench.drain();
    expect(bench.recording.rows.slice(5).map((row) => row.uuid)).toEqual(first);
    expect(bench.recording.read()).toHaveLength(5);
  });

  it('an empty uuid counts as missing, and an upper-case one is stored in lower case', async () => {
    await bench.append('live', {
      batch: [
        { ...line, uuid: '' },
        { ...line, uuid: 'ABCDEF00-0000-7000-8000-000000000001', $set: {} },
      ],
    });
    await bench.drain();
    expect(bench.recording.rows.map((row) => row.uuid)).toEqual([
      expect.stringMatching(/^[\da-f]{8}-/),
      'abcdef00-0000-7000-8000-000000000001',
    ]);
  });
});

describe('times', () => {
  it('events of 400 months in one batch keep their days', async () => {
    const batch = Array.from({ length: 400 }, (_, month) => ({
      ...line,
      timestamp: new Date(Date.UTC(1990, month, 3)).toISOString(),
    }));
    await bench.append('historical', { batch }, { events: 400 });
    await bench.drain();
    expect(bench.recording.inserts).toHaveLength(1);
    expect(bench.recording.rows.map((row) => row.day * 86_400_000_000)).toEqual(
      batch.map(({ timestamp }) => Date.parse(timestamp) * 1000),
    );
    expect((await bench.person('p'))?.created_at).toBe('1990-01-03T00:00:00.000000Z');
  });

  it('clock skew of live events is corrected, except in the identity; future and invalid times become the time of arrival', async () => {
    const at = (timestamp: unknown) => ({ ...line, timestamp });
    const batch = [at('2026-11-20T12:00:00Z'), at('2027-01-01T00:00:00Z'), at('nonsense'), at(undefined)];
    const sentAt = receivedAt + 3_600_000;
    await bench.append('live', { batch, sent_at: new Date(sentAt).toISOString() }, { sentAt, events: 4 });
    await bench.drain();
    expect(bench.recording.rows.map((row) => row.micros / 1000 - receivedAt)).toEqual([-3_600_000, 0, 0, 0]);
    expect((await bench.warnings()).map(({ type, count }) => [type, count])).toEqual([
      ['clock_skew_corrected', 1],
      ['event_timestamp_in_future', 1],
      ['ignored_invalid_timestamp', 1],
    ]);
  });
});
