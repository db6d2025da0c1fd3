import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/server/telemetry/log.ts';
import { hourMs } from '../../../src/base/time.ts';
import type { RunStage } from '../../../src/imports/run/leased-run.ts';
import { createRun, getRun } from '../../../src/imports/run/run-store.ts';
import { startRunWorker } from '../../../src/imports/run/run-worker.ts';
import { newRun, runOptions, type OpenRunsStore, type RunsStore } from '../../support/runs.ts';

/** Leases use the clock of the store, regardless of the clocks of workers. */
export function testWorkersClocks(open: OpenRunsStore): void {
  let store: RunsStore;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store[Symbol.asyncDispose]());

  describe('workers whose clocks are an hour apart', () => {
    it('never hold a run at the same time, and run each stage once', async () => {
      const ids = ['a', 'b', 'c'];
      const options = { ...runOptions, last: 'check' } as const;
      for (const id of ids) await createRun(store.db, newRun({ id, options }));
      const seen: string[] = [];
      const inHand = new Map<string, number>();
      // Longer than the lease, which must be renewed.
      const slow: RunStage = async ({ run }) => {
        seen.push(`${run.id} ${run.stage}`);
        inHand.set(run.id, (inHand.get(run.id) ?? 0) + 1);
        expect(inHand.get(run.id)).toBe(1);
        await wait(2600);
        inHand.set(run.id, 0);
      };
      const none: RunStage = async () => undefined;
      const stages = { export: slow, check: slow, load: none, verify: none, report: none, undo: none, replace: none };
      const stop = new AbortController();
      const workers = [-hourMs, hourMs].map((ahead, index) =>
        startRunWorker({
          db: index === 0 ? store.db : store.other,
          clock: { now: () => Date.now() + ahead },
          log: createLog('silent'),
          stagesOf: async () => stages,
          signal: stop.signal,
          concurrency: 2,
          pollMs: 10,
          checkMs: 50,
          leaseMs: 2000,
        }),
      );
      try {
        for (const id of ids) {
          await expect.poll(async () => (await getRun(store.db, id))?.state).toBe('completed');
        }
      } finally {
        stop.abort();
        await Promise.all(workers.map(({ done }) => done));
      }
      expect(seen.toSorted()).toEqual(ids.flatMap((id) => [`${id} check`, `${id} export`]));
    });
  });
}
