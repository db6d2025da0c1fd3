import { beforeEach, describe, expect, it } from 'vitest';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import { scanBatch } from '../../wire/batch/scan.ts';
import { validateEvent } from '../../wire/batch/validate.ts';
import type { CapturedEvent } from '../sandbox/sandbox.ts';
import { createPluginCapture } from './plugin-capture.ts';

const now = Date.parse('2026-11-20T10:00:00.000Z');
const config = { configId: 7, projectId: 3 };
const captured: CapturedEvent = {
  event: 'seen',
  distinctId: 'ünï 🙂',
  timestamp: '2026-11-19T08:00:00.000Z',
  properties: { $lib: 'posthog-plugin-server', $set: { a: 1 } },
  cause: null,
  hops: 0,
};
const cause = { uuid: '0190aa11-1111-7111-8111-111111111111', index: 0 };

let batches: AcceptedBatch[];
const capture = createPluginCapture({ accept: async (batch) => void batches.push(batch), clock: { now: () => now } });
beforeEach(() => {
  batches = [];
});

async function sent(...events: readonly CapturedEvent[]): Promise<Record<string, unknown>[]> {
  for (const event of events) await capture(config, event);
  return batches.map(({ body }) => (JSON.parse(Buffer.from(body).toString()) as { batch: [never] }).batch[0]);
}

describe('what a plugin captures', () => {
  it('is ingested as a valid event of the project, as the plugin gave it', async () => {
    const [event] = await sent(captured);
    const { event: name, distinctId: distinct_id, timestamp, properties } = captured;
    expect(event).toEqual({ uuid: expect.any(String), event: name, distinct_id, timestamp, properties });
    const [batch] = batches;
    expect(batch).toMatchObject({ lane: 'live', projectId: 3, encoding: 'identity', events: 1, receivedAt: now });
    const scan = scanBatch(Buffer.from(batch?.body ?? []), { eventBytesMax: 1e6, depthMax: 64, keysMax: 10_000 });
    expect([scan.count, validateEvent(scan, 0, 'live', now)]).toEqual([1, { ok: true }]);
  });

  it('during an event has the same uuid in every repetition, and another one otherwise', async () => {
    const base = { ...captured, cause };
    const events = await sent(
      base,
      base,
      { ...base, cause: { ...cause, index: 1 } },
      { ...base, cause: { ...cause, uuid: '0190aa11-2222-7111-8111-111111111111' } },
      { ...base, event: 'other' },
      captured,
      captured,
    );
    await capture({ ...config, configId: 8 }, base);
    const other = JSON.parse(Buffer.from(batches.at(-1)?.body ?? []).toString()) as { batch: [{ uuid: string }] };
    const uuids = [...events.map(({ uuid }) => uuid), other.batch[0].uuid];
    expect(uuids[0]).toBe(uuids[1]);
    expect(new Set(uuids).size).toBe(7);
  });

  it('contains its hops, ignoring those set by the plugin', async () => {
    const forged = { ...captured.properties, $plugin_capture_hops: -5 };
    const events = await sent({ ...captured, properties: forged }, { ...captured, properties: forged, hops: 3 });
    expect(events.map(({ properties }) => properties)).toEqual([
      captured.properties,
      { ...captured.properties, $plugin_capture_hops: 3 },
    ]);
  });

  it.each<[Partial<CapturedEvent>, string]>([
    [{ event: '' }, 'expected an event name of 1 to 200 characters, got: 0'],
    [{ event: 'x'.repeat(201) }, 'got: 201'],
    [{ distinctId: ' ' }, 'expected a distinct_id of 1 to 400 characters'],
    [{ distinctId: 'x'.repeat(401) }, 'got: 401'],
    [{ timestamp: 'yesterday' }, 'expected an ISO 8601 timestamp, got: "yesterday"'],
    [{ properties: { x: 'x'.repeat(1_000_000) } }, 'expected an event of at most 1000000 bytes of JSON'],
  ])('%# what cannot be stored is refused in a sentence', async (part, message) => {
    await expect(capture(config, { ...captured, ...part })).rejects.toThrow(message);
    expect(batches).toEqual([]);
  });

  it('fails when the ingest refuses', async () => {
    const full = createPluginCapture({ accept: () => Promise.reject(new Error('full')), clock: { now: () => now } });
    await expect(full(config, captured)).rejects.toThrow('full');
  });
});
