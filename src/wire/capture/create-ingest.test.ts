import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { inflateBody } from '../batch/inflate-body.ts';
import { scanLimits } from '../batch/limits.ts';
import { scanBatch } from '../batch/scan.ts';
import {
  lanes,
  LogUnavailableError,
  type BodyEncoding,
  type EventLogWriter,
  type LogRecord,
} from '../../log/eventlog.ts';
import { partOf, slotOf, slotOfPart } from '../../log/slot-of.ts';
import { createMetrics } from '../../server/telemetry/metrics.ts';
import { createIngest } from './create-ingest.ts';

function logOf(append: EventLogWriter['append'], slots = 1): EventLogWriter {
  const backlog = () => ({ records: 0, events: 0, bytes: 0 });
  return { slots, append, backlog, backlogOf: backlog, end: async () => 0, close: async () => {} };
}

const settings = { backlogEventsMax: 10, backlogBytesMax: 10, captureEventBytesMax: 1e6, captureInflatedBytesMax: 1e8 };
const rest = { encoding: 'identity', events: 7, receivedAt: 0, requestId: 'r' } as const;

describe('ingest', () => {
  it('appends all batches of a project to one slot of the log', async () => {
    const seen: number[][] = [];
    const log = logOf(async (_lane, { header }, slot) => seen.push([header.projectId, slot]), 64);
    const ingest = createIngest({ log, metrics: createMetrics(), settings });
    for (const projectId of [1, 2, 1]) {
      for (const lane of lanes) await ingest.accept({ lane, projectId, body: new Uint8Array(1), ...rest });
    }
    expect(seen).toEqual([1, 1, 2, 2, 1, 1].map((projectId) => [projectId, slotOf(projectId, 64)]));
  });

  const lines = ['ada', 'bob', 'eve', 'ada', 'joe', 'kim', 'bob'].map((distinct_id, n) =>
    JSON.stringify({ event: `e${n}`, distinct_id, properties: { text: 'two\nlines' } }),
  );
  it.each<[BodyEncoding, Uint8Array]>([
    ['identity', Buffer.from(`{"api_key":"k","batch":[${lines.join()}]}`)],
    ['gzip', gzipSync(`[${lines.join()}]`)],
    ['zstd-ndjson', zstdCompressSync(lines.join('\n'))],
  ])(
    'splits the batch of a spread project by distinct id, each event once and in order: %s',
    async (encoding, body) => {
      const seen = new Map<
        number,
        { readonly record: LogRecord; readonly events: readonly { distinct_id: string }[] }
      >();
      const log = logOf(async (_lane, record, slot) => {
        const json = JSON.parse(inflateBody({ encoding, body: record.body }, 1e8).toString());
        seen.set(slot, { record, events: Array.isArray(json) ? json : json.batch });
        return 1;
      }, 64);
      const ingest = createIngest({ log, metrics: createMetrics(), settings, spreads: { of: async () => 4 } });
      await ingest.accept({ ...rest, lane: 'historical', projectId: 1, body, encoding, rowsStored: true });
      expect(seen.size).toBeGreaterThan(1);
      for (const [slot, { record, events }] of seen) {
        const of = events.map(({ distinct_id: id }) => slotOfPart(1, partOf(id, 4), 64));
        expect(of).toEqual(of.map(() => slot));
        expect(events.map((event) => JSON.stringify(event))).toEqual(
          lines.filter((line) => slotOfPart(1, partOf(JSON.parse(line).distinct_id, 4), 64) === slot),
        );
        expect(record.header).toMatchObject({ requestId: 'r', events: events.length, projectId: 1, rowsStored: true });
        expect(slotOfPart(1, record.header.part ?? 0, 64)).toBe(slot);
      }
    },
  );

  it('keeps a batch with one id as received, and refuses a batch if a part cannot be appended', async () => {
    const seen: LogRecord[] = [];
    const ids = ['ada', 'bob', 'eve', 'joe', 'kim'];
    const lost = slotOfPart(1, partOf('kim', 4), 64);
    const log = logOf(async (_lane, record, slot) => {
      if (slot === lost) throw new LogUnavailableError('away');
      return seen.push(record);
    }, 64);
    const ingest = createIngest({ log, metrics: createMetrics(), settings, spreads: { of: async () => 4 } });
    const one = gzipSync('[{"event":"a","distinct_id":"ada"},{"event":"b","distinct_id":"ada"}]');
    await ingest.accept({ ...rest, lane: 'live', projectId: 1, body: one, encoding: 'gzip' });
    expect(seen.map(({ body }) => body)).toEqual([one]);
    const all = Buffer.from(JSON.stringify(ids.map((distinct_id) => ({ event: 'a', distinct_id }))));
    await expect(ingest.accept({ ...rest, lane: 'live', projectId: 1, body: all })).rejects.toMatchObject({
      status: 503,
    });
  });

  it('passes on the scan of a batch with its sequence number once the batch is durable', async () => {
    const happened: unknown[] = [];
    const log = logOf(async () => {
      await nextTurn();
      happened.push('durable');
      return 41;
    });
    const send = (...args: unknown[]): void => void happened.push(args);
    const ingest = createIngest({ log, metrics: createMetrics(), settings, scans: { send } });
    const json = Buffer.from('[{"event":"a","distinct_id":"ada"}]');
    const scan = scanBatch(json, scanLimits(1000));
    const batch = { ...rest, lane: 'live', projectId: 1, body: gzipSync(json), encoding: 'gzip' } as const;
    await ingest.accept({ ...batch, scan });
    await ingest.accept(batch);
    expect(happened).toEqual(['durable', ['live', 41, scan], 'durable']);
  });

  it('counts the bytes received even if the log transfers the memory to another thread', async () => {
    const metrics = createMetrics();
    const log = logOf(async (_lane, { body }) => {
      (body.buffer as ArrayBuffer).transfer();
      return 1;
    });
    const ingest = createIngest({ log, metrics, settings });
    const body = new Uint8Array(1234);
    await ingest.accept({ lane: 'historical', projectId: 1, body, ...rest });
    expect(body.byteLength).toBe(0);
    const text = await metrics.text();
    expect(text).toContain('received_bytes_total{component="capture",lane="historical"} 1234');
    expect(text).toContain('received_events_total{component="capture",lane="historical"} 7');
  });
});
