import { dayMs } from '../../base/time.ts';
import { describe, expect, it } from 'vitest';
import { scanBatch } from '../../wire/batch/scan.ts';
import type { AcceptedBatch } from '../../wire/batch/ingest.ts';
import { validateEvent } from '../../wire/batch/validate.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { sampleEvents } from './sample-events.ts';

const noon = Date.parse('2026-11-20T12:00:00Z');

interface SentEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
}

async function run(settings: SettingValues, now = noon, projectId = 1) {
  const batches: AcceptedBatch[] = [];
  const { signal } = new AbortController();
  const accept = async (batch: AcceptedBatch): Promise<void> => void batches.push(batch);
  await sampleEvents({ now: () => now }).jobs.run.run({ projectId, settings, payload: {}, accept, signal });
  const events = batches.flatMap(
    ({ body }) => (JSON.parse(Buffer.from(body).toString()) as { batch: SentEvent[] }).batch,
  );
  return { batches, events };
}

describe('sample events', () => {
  it('every event passes the rules of ingestion, as a historical event', async () => {
    const { batches } = await run({ count: '2500', days: '10' });
    expect(batches.length).toBeGreaterThan(2);
    for (const batch of batches) {
      expect(batch).toMatchObject({ lane: 'historical', projectId: 1, encoding: 'identity', receivedAt: noon });
      const limits = { eventBytesMax: 1_000_000, depthMax: 64, keysMax: 10_000 };
      const scan = scanBatch(Buffer.from(batch.body), limits);
      expect([scan.count, scan.historicalMigration]).toEqual([batch.events, true]);
      const verdicts = Array.from({ length: scan.count }, (_, index) => validateEvent(scan, index, 'historical', noon));
      expect(verdicts.filter((verdict) => !verdict.ok)).toEqual([]);
    }
  });

  it('gives the requested number up to the end of the day, oldest first, none in the future', async () => {
    const lastMoment = Date.parse('2026-11-20T23:59:59.999Z');
    const { events } = await run({ count: '997', days: '7' }, lastMoment);
    expect(events).toHaveLength(997);
    const times = events.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted());
    expect(times[0]?.slice(0, 10)).toBe('2026-11-14');
    const { events: atNoon } = await run({ count: '997', days: '7' });
    expect(atNoon.length).toBeLessThan(997);
    expect(atNoon.filter(({ timestamp }) => Date.parse(timestamp) > noon)).toEqual([]);
  });

  it('gives the same events with the same uuids again; a day later one more day', async () => {
    const settings = { count: '700', days: '7' };
    const first = await run(settings);
    expect((await run(settings)).events).toEqual(first.events);
    const later = await run({ count: '800', days: '8' }, noon + dayMs);
    const known = new Map(first.events.map((event) => [event.uuid, event]));
    const again = later.events.filter(({ uuid }) => known.has(uuid));
    expect(again).toHaveLength(first.events.length);
    expect(again).toEqual(first.events);
    expect(new Set(later.events.map(({ uuid }) => uuid)).size).toBe(later.events.length);
  });

  it('gives other uuids for another seed or project', async () => {
    const uuids = async (seed: string, project: number): Promise<string[]> =>
      (await run({ count: '50', days: '2', seed }, noon, project)).events.map(({ uuid }) => uuid);
    const all = [...(await uuids('a', 1)), ...(await uuids('b', 1)), ...(await uuids('a', 2))];
    expect(new Set(all).size).toBe(all.length);
  });

  it('looks like a shop: several kinds of events by people who come back', async () => {
    const { events } = await run({ count: '5000' });
    expect(new Set(events.map(({ event }) => event))).toEqual(
      new Set(['$pageview', 'product viewed', 'signed in', 'order placed']),
    );
    const people = new Set(events.map(({ distinct_id }) => distinct_id)).size;
    expect(people).toBeGreaterThan(50);
    expect(people).toBeLessThanOrEqual(400);
  });

  it.each([{ count: '0' }, { count: 'many' }, { count: '200001' }, { days: '0.5' }, { days: '9999' }])(
    'refuses %j',
    async (settings) => {
      await expect(run(settings)).rejects.toThrow('expected a whole number from 1 to');
    },
  );

  it('stops between batches on request', async () => {
    const stop = new AbortController();
    const batches: AcceptedBatch[] = [];
    const accept = async (batch: AcceptedBatch): Promise<void> => {
      batches.push(batch);
      stop.abort();
    };
    const job = sampleEvents({ now: () => noon }).jobs.run;
    const running = job.run({ projectId: 1, settings: {}, payload: {}, accept, signal: stop.signal });
    await expect(running).rejects.toThrow('aborted');
    expect(batches).toHaveLength(1);
  });
});
