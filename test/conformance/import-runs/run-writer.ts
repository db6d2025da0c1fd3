import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deleteProjectRows } from '../../../src/stores/metadata/projects.ts';
import { RunLostError } from '../../../src/imports/run/leased-run.ts';
import { createRunWriter, type RunWriter } from '../../../src/imports/run/run-writer.ts';
import { createRun, getRun } from '../../../src/imports/run/run-store.ts';
import { pauseRun, retryRejected } from '../../../src/imports/run/run-transitions.ts';
import { claimRun, completeRun } from '../../../src/imports/run/claim-run.ts';
import type { StageProgress } from '../../../src/imports/run/run.ts';
import { newRun, start, type OpenRunsStore, type RunsStore } from '../../support/runs.ts';

const part = (key: string) => ({ key, bytes: 10, identity: `etag-${key}`, stable: true, detail: { url: key } });
const atStart: StageProgress = { stage: 'export', partsDone: 0, done: 0, bytes: 0, rate: 0 };

export function testRunWriter(open: OpenRunsStore): void {
  let store: RunsStore;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store[Symbol.asyncDispose]());

  async function hold(lost?: () => void): Promise<RunWriter> {
    if ((await getRun(store.db, 'r')) === undefined) await createRun(store.db, newRun({ id: 'r' }));
    const claim = await claimRun(store.db, start, 60_000);
    if (claim === undefined) throw new Error('expected the run to be due');
    const { signal } = new AbortController();
    return createRunWriter({ db: store.db, clock: { now: () => start }, signal, ...(lost && { onLost: lost }) }, claim);
  }

  describe('a run held by a worker', () => {
    it('parts keep their numbers when they are listed again with new ones in between', async () => {
      const leased = await hold();
      await leased.addParts([part('a'), part('c')]);
      const parts = await leased.addParts([part('a'), part('b'), part('c'), part('b')]);
      expect(parts.map(({ seq, key }) => [seq, key])).toEqual([
        [1, 'a'],
        [2, 'c'],
        [3, 'b'],
      ]);
      expect(parts[0]).toEqual({
        ...part('a'),
        seq: 1,
        segments: [],
        complete: false,
        faults: 0,
        checked: 0,
        checkState: '',
        checksum: undefined,
        error: '',
      });
      const many = Array.from({ length: 1203 }, (_, n) => ({ key: `k${n}`, stable: false }));
      expect(await leased.addParts(many)).toHaveLength(1206);
    });

    it('saved fields of a part and a day are read back, and the others stay unchanged', async () => {
      const leased = await hold();
      await leased.addParts([part('a'), part('b')]);
      const segments = [{ records: 3, rawBytes: 4_000_000_000, bytes: 5, sha256: 'ab' }];
      await leased.savePart(2, { segments, faults: 1 });
      await leased.savePart(2, { complete: true, checked: 1, checkState: '{"x":1}' });
      const [first, second] = await leased.parts();
      expect(first).toMatchObject({ complete: false, segments: [] });
      expect(second).toMatchObject({ segments, faults: 1, complete: true, checked: 1, checkState: '{"x":1}' });
      expect(second).toMatchObject({ identity: 'etag-b', detail: { url: 'b' } });
      await leased.savePart(2, { identity: undefined, error: 'gone' });
      expect((await leased.parts())[1]).toMatchObject({ identity: undefined, error: 'gone' });

      await leased.saveDay('2024-01-02', { events: 5, bytes: 9_000_000_000, frames: 2, expected: '{"a":{}}' });
      await leased.saveDay('2024-01-01', { events: 1, frames: 1 });
      await leased.saveDay('2024-01-02', { framesLoaded: 1, accepted: 3 });
      const days = await leased.days();
      expect(days.map(({ day }) => day)).toEqual(['2024-01-01', '2024-01-02']);
      expect(days[1]).toEqual({
        day: '2024-01-02',
        events: 5,
        bytes: 9_000_000_000,
        duplicates: 0,
        frames: 2,
        framesLoaded: 1,
        accepted: 3,
        rejected: 0,
        verified: false,
        expected: '{"a":{}}',
      });
    });

    it('days are removed, or their progress is reset', async () => {
      const leased = await hold();
      await leased.saveDay('2024-01-01', { events: 5, frames: 2, framesLoaded: 2, accepted: 5, verified: true });
      await leased.resetDays('verified');
      expect((await leased.days())[0]).toMatchObject({ framesLoaded: 2, accepted: 5, verified: false });
      await leased.resetDays('loaded');
      expect((await leased.days())[0]).toMatchObject({ events: 5, framesLoaded: 0, accepted: 0 });
      await leased.resetDays('days');
      expect(await leased.days()).toEqual([]);
    });

    const losses = {
      'after a pause': () => pauseRun(store.other, 'r'),
      'when another worker has claimed it': () => claimRun(store.other, start + 60_001, 60_000),
    };
    it.each(Object.entries(losses))('%s every write is refused and changes nothing', async (_when, lose) => {
      let told = 0;
      const leased = await hold(() => (told += 1));
      await leased.addParts([part('a')]);
      await leased.saveDay('2024-01-01', { events: 1 });
      expect(await lose()).toBeDefined();
      await expect(leased.savePart(1, { complete: true })).rejects.toThrow(RunLostError);
      await expect(leased.addParts([part('b')])).rejects.toThrow(RunLostError);
      await expect(leased.saveDay('2024-01-01', { events: 2 })).rejects.toThrow(RunLostError);
      for (const what of ['days', 'loaded', 'verified'] as const) {
        await expect(leased.resetDays(what)).rejects.toThrow(RunLostError);
      }
      leased.progress({ ...atStart, done: 9 });
      await expect(leased.flush()).rejects.toThrow(RunLostError);
      leased.beginStage('check');
      await expect(leased.flush()).rejects.toThrow(RunLostError);
      expect(told).toBe(8);
      expect(await leased.parts()).toMatchObject([{ key: 'a', complete: false }]);
      expect(await leased.days()).toMatchObject([{ events: 1 }]);
      expect((await getRun(store.db, 'r'))?.progress).toEqual({});
    });

    it('progress is written with its times, immediately on request, and so is what it waits for until it progresses', async () => {
      const leased = await hold();
      leased.waiting({ reason: 'the source answers 429', until: start + 5 });
      await leased.flush();
      expect(await getRun(store.db, 'r')).toMatchObject({
        waiting: { reason: 'the source answers 429', until: start + 5 },
      });
      leased.progress({ ...atStart, done: 2 }, { records: 2 });
      leased.progress({ ...atStart, done: 3 }, { rejected: 1 });
      await leased.flush();
      leased.endStage('export');
      await leased.flush();
      const run = await getRun(store.db, 'r');
      expect(run?.waiting).toBeNull();
      expect(run?.totals).toMatchObject({ records: 2, rejected: 1, loaded: 0 });
      const times = { startedAt: start, lastProgressAt: start, finishedAt: start };
      expect(run?.progress.export).toMatchObject({ done: 3, ...times });
    });

    it('progress is written automatically within a second', async () => {
      const leased = await hold();
      for (let done = 1; done <= 50; done += 1) leased.progress({ ...atStart, done });
      const done = async () => (await getRun(store.db, 'r'))?.progress.export?.done;
      for (let looks = 0; looks < 45 && (await done()) !== 50; looks += 1) await sleep(20);
      expect(await done()).toBe(50);
    });

    it('retrying rejected records resets the check and the days but keeps staged data', async () => {
      const leased = await hold();
      await leased.addParts([part('a')]);
      const segments = [{ records: 3, rawBytes: 4, bytes: 5, sha256: 'ab' }];
      await leased.savePart(1, { segments, complete: true, checked: 1, checkState: '{}' });
      await leased.saveDay('2024-01-01', { events: 1 });
      await completeRun(store.db, { run: leased.run, attempt: 1 }, start);
      await retryRejected(store.db, 'r');
      expect(await leased.parts()).toMatchObject([{ segments, complete: true, checked: 0, checkState: '' }]);
      expect(await leased.days()).toEqual([]);
    });

    it('the runs of a deleted project are deleted with it, and their workers can no longer write', async () => {
      const leased = await hold();
      await leased.addParts([part('a')]);
      await leased.saveDay('2024-01-01', { events: 1 });
      await deleteProjectRows(store.db, 1);
      await expect(leased.addParts([part('b')])).rejects.toThrow(RunLostError);
      expect([await leased.parts(), await leased.days(), await getRun(store.db, 'r')]).toEqual([[], [], undefined]);
    });
  });
}
