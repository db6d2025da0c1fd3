import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AcceptedBatch } from '../../../src/wire/batch/ingest.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { createLog } from '../../../src/server/telemetry/log.ts';
import { groupDeadLetters, listDeadLetters } from '../../../src/pipeline/dead-letter-queries.ts';
import {
  beginReplay,
  cancelReplay,
  claimReplay,
  findReplay,
  listReplays,
  lettersOfReplay,
} from '../../../src/pipeline/dead-letter-replays.ts';
import { addDeadLetters, deadRecord } from '../../../src/pipeline/dead-letters.ts';
import { runReplays } from '../../../src/pipeline/replay-runner.ts';

const projectId = 7;
const arrival = Date.parse('2026-11-19T08:00:00.000Z');
const good = { event: 'seen', distinct_id: 'p' };
const all = { filter: { after: '2026-01-01' }, choice: { filter: {} } };

/** Background replays on a real store, with an ingest that can fail. */
export function testReplays(open: () => Promise<{ readonly db: Metadata } & AsyncDisposable>): void {
  let store: { readonly db: Metadata } & AsyncDisposable;
  let db: Metadata;
  let sent: AcceptedBatch[];
  let onAccept: (batch: AcceptedBatch) => Promise<void>;
  let stop: AbortController;
  beforeEach(async () => {
    store = await open();
    db = store.db;
    sent = [];
    onAccept = async () => {};
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await store[Symbol.asyncDispose]();
  });

  const add = async (seq: number, original: object, project = projectId): Promise<string> => {
    const at = { projectId: project, receivedAt: arrival + seq * 1000 };
    const place = { logId: 'log', lane: 'live', seq, index: -1, ...at } as const;
    const reason = { reason: 'processing_failed', detail: 'd', attr: null } as const;
    const row = { ...deadRecord(place, reason, Buffer.from(JSON.stringify(original))), event: `e${seq % 2}` };
    await addDeadLetters(db, [row]);
    return row.id;
  };
  const ingest = {
    accept: async (batch: AcceptedBatch) => {
      await onAccept(batch);
      sent.push(batch);
    },
  };
  const run = (): Promise<void> =>
    runReplays({
      db,
      ingest,
      clock: { now: () => Date.now() },
      log: createLog('silent'),
      eventBytesMax: 10_000,
      signal: stop.signal,
      pollMs: 5,
      leaseMs: 300,
    });
  const begin = (more: Partial<typeof all> = {}) => beginReplay(db, { projectId, ...all, ...more, now: Date.now() });
  const ended = (id: string) => expect.poll(async () => (await findReplay(db, projectId, id))?.state).toBe('done');
  const statesOf = async () =>
    (await listDeadLetters(db, projectId, {}, { limit: 1000, offset: 0 })).map(({ state }) => state);

  describe('replays in the background', () => {
    it('send every acceptable dead letter once, and report why the others stay open', async () => {
      for (let seq = 1; seq <= 45; seq += 1) await add(seq, seq % 15 === 0 ? { event: 'no id' } : good);
      await add(50, good, projectId + 1);
      const id = await begin();
      expect(await findReplay(db, projectId, id)).toMatchObject({ state: 'queued', matched: 45, remaining: 45 });
      const running = run();
      await ended(id);
      expect(await findReplay(db, projectId, id)).toMatchObject({
        matched: 45,
        replayed: 42,
        remaining: 0,
        failures: [
          { code: 'missing_distinct_id', count: 3, ids: [expect.any(String), expect.any(String), expect.any(String)] },
        ],
        error: '',
      });
      expect(sent).toHaveLength(42);
      expect((await statesOf()).filter((state) => state === 'open')).toHaveLength(3);
      expect(await listReplays(db, projectId + 1, { limit: 10, offset: 0 })).toEqual({ count: 0, replays: [] });
      stop.abort();
      await running;
    });

    it('wait while ingest refuses, report it, and resume automatically', async () => {
      await add(1, good);
      onAccept = async () => {
        throw new Error('the log is full');
      };
      const id = await begin();
      void run();
      await expect.poll(async () => (await findReplay(db, projectId, id))?.error).toBe('the log is full');
      expect(await statesOf()).toEqual(['open']);
      onAccept = async () => {};
      await ended(id);
      expect(await findReplay(db, projectId, id)).toMatchObject({ replayed: 1, error: '' });
    });

    it('are claimed by another worker when theirs dies, and send the rest', async () => {
      for (let seq = 1; seq <= 3; seq += 1) await add(seq, good);
      const id = await begin();
      // The worker that claimed it died, and its lease has expired.
      expect(await claimReplay(db, Date.now() - 10_000, 1000)).toMatchObject({ id, projectId });
      void run();
      await ended(id);
      expect(sent).toHaveLength(3);
    });

    it('select no dead letter that another replay has claimed, and none added later', async () => {
      await add(1, good);
      const first = await begin();
      await add(2, good);
      const second = await begin();
      const third = await begin();
      const matched = async (id: string) => (await findReplay(db, projectId, id))?.matched;
      expect([await matched(first), await matched(second), await matched(third)]).toEqual([1, 1, 0]);
      expect(await findReplay(db, projectId, third)).toMatchObject({ state: 'done' });
    });

    it('end when cancelled, and unsent dead letters can be selected again', async () => {
      for (let seq = 1; seq <= 60; seq += 1) await add(seq, good);
      const id = await begin();
      onAccept = async () => void (sent.length === 20 && (await cancelReplay(db, projectId, id, Date.now())));
      const running = run();
      await expect.poll(async () => (await findReplay(db, projectId, id))?.state).toBe('cancelled');
      stop.abort();
      await running;
      expect(sent.length).toBeLessThan(60);
      expect(await cancelReplay(db, projectId, id, Date.now())).toBe(false);
      const again = await begin();
      expect(await lettersOfReplay(db, again, 100)).toHaveLength(60 - sent.length);
    });
  });

  describe('counts of dead letters', () => {
    it('are by reason and event name', async () => {
      for (let seq = 1; seq <= 5; seq += 1) await add(seq, good);
      expect(await groupDeadLetters(db, projectId, { state: 'open' })).toEqual([
        {
          reason: 'processing_failed',
          count: 5,
          oldest: '2026-11-19T08:00:01.000000Z',
          newest: '2026-11-19T08:00:05.000000Z',
          events: [
            { event: 'e1', count: 3 },
            { event: 'e0', count: 2 },
          ],
        },
      ]);
      expect(await groupDeadLetters(db, projectId, { event: 'none' })).toEqual([]);
    });
  });
}
