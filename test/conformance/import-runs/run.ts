import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Claim } from '../../../src/imports/run/claim-run.ts';
import { createRun, getRun, getRunSecrets, listRuns } from '../../../src/imports/run/run-store.ts';
import {
  cancelRun,
  pauseRun,
  resumeRun,
  retryRejected,
  RunMissingError,
  RunTransitionError,
  undoRun,
  verifyAgain,
} from '../../../src/imports/run/run-transitions.ts';
import {
  claimRun,
  completeRun,
  enterStage,
  failRun,
  isClaimed,
  noteDeath,
  releaseRun,
  renew,
  type ClaimOptions,
} from '../../../src/imports/run/claim-run.ts';
import { refusalOf } from '../../../src/imports/run/run-deaths.ts';
import { createRunWriter } from '../../../src/imports/run/run-writer.ts';
import { allowedActions } from '../../../src/imports/run/run.ts';
import type { Run } from '../../../src/imports/run/run.ts';
import { beginRebuild, findRebuild, saveRebuild } from '../../../src/stores/metadata/profile-rebuilds.ts';
import { addDestination, addNoticeProject } from '../../support/notices.ts';
import { newRun, runOptions, start, type OpenRunsStore, type RunsStore } from '../../support/runs.ts';

const leaseMs = 1000;

export function testRuns(open: OpenRunsStore): void {
  let store: RunsStore;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store[Symbol.asyncDispose]());

  async function add(more: Parameters<typeof newRun>[0] = {}): Promise<Run> {
    return createRun(store.db, newRun(more));
  }
  async function take(now = start, db = store.db): Promise<Claim> {
    const claim = await claimRun(db, now, leaseMs);
    if (claim === undefined) throw new Error('expected a run to be due');
    return claim;
  }
  const stateOf = async ({ id }: Run): Promise<string | undefined> => (await getRun(store.db, id))?.state;

  describe('import runs', () => {
    it('a run is read back as requested, and its secrets only by its worker', async () => {
      const options = {
        ...runOptions,
        range: { from: '2024-01-01T00:00:00Z' },
        names: { events: { a: null } },
        limit: 5,
      };
      const run = await add({ options, secrets: { apiKey: 'phc_secret' }, promotedFrom: 'trial' });
      expect(run).toMatchObject({ state: 'queued', stage: 'export', options, promotedFrom: 'trial', createdAt: start });
      expect(await getRun(store.other, run.id, { projectId: 1 })).toEqual(run);
      expect(await getRun(store.db, run.id, { projectId: 9 })).toBeUndefined();
      expect(JSON.stringify(run)).not.toContain('phc_secret');
      expect(await getRunSecrets(store.db, run.id)).toEqual({ apiKey: 'phc_secret' });
    });

    it('its end is notified once, in the transaction in which it ends', async () => {
      const owner = await addNoticeProject(store.db);
      await addDestination(store.db, owner);
      await add({ projectId: owner.projectId });
      const claim = await take();
      expect(await failRun(store.db, claim, 'no such file', start)).toBe(true);
      expect(await failRun(store.other, claim, 'no such file', start)).toBe(false);
      await resumeRun(store.db, claim.run.id);
      expect(await completeRun(store.db, await take(), start)).toBe(true);
      await add({ projectId: 0 });
      await completeRun(store.db, await take(), start);
      const rows = await store.db.selectFrom('notices').select('notice').orderBy('id').execute();
      expect(rows.map(({ notice }) => JSON.parse(notice) as unknown)).toMatchObject([
        { event: 'run_failed', summary: 'Import from files failed: no such file' },
        { event: 'run_completed', details: { run: claim.run.id } },
      ]);
    });

    it('runs are listed newest first, by config and state, never those of other projects', async () => {
      const first = await add();
      const second = await add({ configId: 3, now: start + 1 });
      const third = await add({ now: start + 2 });
      await add({ projectId: 7 });
      await pauseRun(store.db, first.id);
      const ids = async (of: object): Promise<string[]> => {
        const { runs, count } = await listRuns(store.db, { projectId: 1, ...of }, { limit: 10, offset: 0 });
        expect(count).toBe(runs.length);
        return runs.map(({ id }) => id);
      };
      expect(await ids({})).toEqual([third.id, second.id, first.id]);
      expect(await ids({ configId: 2 })).toEqual([third.id, first.id]);
      expect(await ids({ states: ['queued', 'running'] })).toEqual([third.id, second.id]);
      const page = await listRuns(store.db, { projectId: 1 }, { limit: 1, offset: 1 });
      expect(page).toMatchObject({ count: 3, runs: [{ id: second.id }] });
    });

    it('many concurrent workers claim each run once, the oldest first', async () => {
      for (let n = 0; n < 4; n += 1) await add({ now: start + n, id: `r${n}` });
      expect((await take()).run.id).toBe('r0');
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, n) => claimRun(n % 2 ? store.db : store.other, start + 10, leaseMs)),
      );
      const ids = claims.flatMap((claim) => (claim === undefined ? [] : [claim.run.id]));
      expect(ids.toSorted()).toEqual(['r1', 'r2', 'r3']);
    });

    it('a claim for one run returns that run or nothing, and never one still held', async () => {
      await add({ id: 'a' });
      await add({ id: 'b', now: start + 1 });
      expect((await claimRun(store.db, start, leaseMs, { onlyRun: 'b' }))?.run.id).toBe('b');
      expect(await claimRun(store.db, start, leaseMs, { onlyRun: 'b' })).toBeUndefined();
      expect(await claimRun(store.db, start, leaseMs, { except: ['a'] })).toBeUndefined();
    });

    it('a run whose worker died is resumed in its stage, and the former worker cannot write', async () => {
      const run = await add();
      const lost = await take();
      expect(await enterStage(store.db, lost, 'load')).toBe(true);
      expect(await renew(store.db, lost, start + 900, leaseMs)).toBe(true);
      expect(await claimRun(store.db, start + 1800, leaseMs)).toBeUndefined();
      const again = await take(start + 1901, store.other);
      expect(again).toMatchObject({ attempt: 2, run: { id: run.id, stage: 'load', startedAt: start } });
      expect(await isClaimed(store.db, lost)).toBe(false);
      expect(await renew(store.db, lost, start + 1902, leaseMs)).toBe(false);
      expect(await enterStage(store.db, lost, 'verify')).toBe(false);
      expect(await completeRun(store.db, lost, start)).toBe(false);
      expect(await failRun(store.db, lost, 'no', start)).toBe(false);
      expect(await releaseRun(store.db, lost)).toBe(false);
      expect(await isClaimed(store.db, again)).toBe(true);
    });

    describe('whose worker ended in the middle', () => {
      let now = start;
      const takeNext = async (of: ClaimOptions = {}): Promise<Claim> => {
        now += 2 * leaseMs;
        const claim = await claimRun(store.db, now, leaseMs, of);
        if (claim === undefined) throw new Error('expected a run to be due');
        return claim;
      };
      const refusal = ({ run, deaths }: Claim) => refusalOf(store.db, run.id, deaths);
      const end = ({ run, attempt }: Claim) =>
        noteDeath(store.other, { id: run.id, attempt }, 'it took too much memory');

      it('is retried once, then refused with how it ended and what to do, until it is resumed', async () => {
        const { id } = await add();
        const first = await takeNext();
        const signal = new AbortController().signal;
        const writer = createRunWriter({ db: store.db, clock: { now: () => now }, signal }, first);
        await writer.addParts([{ key: 'bad.parquet', stable: true }]);
        expect(await refusal(first)).toBeUndefined();
        await end(first);
        const second = await takeNext();
        expect(await refusal(second)).toBeUndefined();
        await end(second);
        const third = await takeNext();
        const message = expect.stringMatching(/stage export .* 2 crashes .*it took too much memory.*bad\.parquet/);
        expect(await refusal(third)).toMatchObject({ name: 'RunFailedError', advice: 'resume', message });
        await failRun(store.db, third, 'poison', now);
        await resumeRun(store.db, id);
        expect(await refusal(await takeNext())).toBeUndefined();
      });

      it('is retried whenever it progressed in between', async () => {
        await add();
        for (let part = 0; part < 6; part += 1) {
          const claim = await takeNext();
          expect(await refusal(claim)).toBeUndefined();
          const signal = new AbortController().signal;
          const writer = createRunWriter({ db: store.db, clock: { now: () => now }, signal }, claim);
          await writer.addParts([{ key: `part ${part}`, stable: true }]);
          await end(claim);
        }
        // A day may need many slices of facts, and each counts as progress.
        for (let slices = 1; slices < 6; slices += 1) {
          const claim = await takeNext();
          expect(await refusal(claim)).toBeUndefined();
          const signal = new AbortController().signal;
          const writer = createRunWriter({ db: store.db, clock: { now: () => now }, signal }, claim);
          writer.progress({ stage: 'load', partsDone: 0, done: 0, bytes: 0, rate: 0, slices });
          await writer.flush();
          await end(claim);
        }
        // So does each step in which the pipeline rebuilds persons after an undo.
        for (let persons = 1; persons < 6; persons += 1) {
          const claim = await takeNext();
          expect(await refusal(claim)).toBeUndefined();
          const { id, projectId } = claim.run;
          await beginRebuild(store.db, { id, projectId, detail: null, now });
          const rebuild = await findRebuild(store.db, id);
          await saveRebuild(store.db, id, {
            ...(rebuild && { counts: { ...rebuild.counts, persons_before: persons } }),
          });
          await end(claim);
        }
      });

      it('together with the service gets more attempts, and a wait or a lease that its worker outlived does not count', async () => {
        await add();
        let claim = await takeNext();
        for (let tries = 1; tries < 12; tries += 1) {
          expect(await refusal(claim)).toBeUndefined();
          claim = await takeNext();
        }
        claim = await takeNext({ outlived: new Map([[claim.run.id, claim.attempt]]) });
        await store.db.updateTable('import_runs').set({ waiting: '{"reason":"429"}' }).execute();
        claim = await takeNext();
        expect(await refusal(claim)).toBeUndefined();
        await store.db.updateTable('import_runs').set({ waiting: null }).execute();
        expect(await refusal(await takeNext())).toMatchObject({ message: expect.stringContaining('12 crashes') });
      });

      it('is claimed immediately by another worker, and a late end changes nothing', async () => {
        await add();
        const claim = await take();
        await end(claim);
        const next = await take();
        expect(next).toMatchObject({ attempt: 2, deaths: { ended: 1, lost: 0 } });
        await end(claim);
        expect(await isClaimed(store.db, next)).toBe(true);
        expect(await claimRun(store.db, start, leaseMs)).toBeUndefined();
      });

      it('is not claimed in addition to another such run', async () => {
        await add({ id: 'a' });
        await add({ id: 'b' });
        for (const claim of [await take(), await take()]) await end(claim);
        await add({ id: 'c', now: start + 5 });
        expect((await takeNext({ withoutDeaths: true })).run.id).toBe('c');
      });
    });

    it('a clock that was set back does not leave a run unclaimed', async () => {
      await add();
      await take(start + 86_400_000);
      expect((await take(start)).attempt).toBe(2);
    });

    it('pause revokes the run from its worker immediately, and resume continues it in its stage', async () => {
      const run = await add();
      const claim = await take();
      await enterStage(store.db, claim, 'check');
      expect(await pauseRun(store.db, run.id)).toMatchObject({ state: 'paused', reason: 'paused by a user' });
      expect(await completeRun(store.db, claim, start)).toBe(false);
      expect(await claimRun(store.db, start + 9000, leaseMs)).toBeUndefined();
      const changes = { rejectedMax: 0.5, eventsPerSecond: 10 };
      const resumed = await resumeRun(store.db, run.id, changes);
      expect(resumed).toMatchObject({ state: 'queued', stage: 'check', reason: '', options: changes });
      expect((await take()).attempt).toBe(2);
    });

    it('a failed run shows its reason until it is resumed', async () => {
      const run = await add();
      await failRun(store.db, await take(), 'x'.repeat(5000), start + 5);
      const failed = await getRun(store.db, run.id);
      expect(failed).toMatchObject({ state: 'failed', finishedAt: start + 5 });
      expect(failed?.reason).toHaveLength(1000);
      expect(await resumeRun(store.db, run.id)).toMatchObject({ state: 'queued', reason: '', finishedAt: null });
    });

    it('a run that was only checked continues with the load', async () => {
      const run = await add({ options: { ...runOptions, last: 'check' } });
      const claim = await take();
      await enterStage(store.db, claim, 'check');
      await completeRun(store.db, claim, start);
      const resumed = await resumeRun(store.db, run.id);
      expect(resumed).toMatchObject({ state: 'queued', stage: 'load', options: { last: 'report' } });
      const next = await take();
      await enterStage(store.db, next, 'verify');
      await pauseRun(store.db, run.id);
      expect((await resumeRun(store.db, run.id, { last: 'check' })).options.last).toBe('report');
    });

    it('a completed run can be checked again to retry rejected records, or verified again', async () => {
      const run = await add();
      await completeRun(store.db, await take(), start);
      expect(await retryRejected(store.db, run.id)).toMatchObject({ state: 'queued', stage: 'check', retries: 1 });
      await completeRun(store.db, await take(), start);
      expect(await verifyAgain(store.db, run.id)).toMatchObject({ state: 'queued', stage: 'verify', retries: 1 });
    });

    it('a cancelled run stays cancelled', async () => {
      const run = await add();
      await cancelRun(store.db, run.id, start + 3);
      expect(await getRun(store.db, run.id)).toMatchObject({ state: 'cancelled', finishedAt: start + 3 });
      expect(await claimRun(store.db, start + 9000, leaseMs)).toBeUndefined();
    });

    it('an action that is not allowed is refused with the state and the allowed actions', async () => {
      const run = await add();
      const refused = resumeRun(store.db, run.id);
      await expect(refused).rejects.toThrow(RunTransitionError);
      await expect(refused).rejects.toMatchObject({ state: 'queued', allowed: ['pause', 'cancel'] });
      await expect(refused).rejects.toThrow('possible: pause, cancel');
      expect(await stateOf(run)).toBe('queued');
      await completeRun(store.db, await take(), start);
      const time = '2026-11-20T10:00:00.000000Z';
      await store.db.updateTable('import_runs').set({ staging_removed_at: time }).where('id', '=', run.id).execute();
      await expect(retryRejected(store.db, run.id)).rejects.toThrow('its staged records are removed');
      await expect(pauseRun(store.db, 'nowhere')).rejects.toThrow(RunMissingError);
    });

    it('in every state exactly the allowed actions succeed', async () => {
      const act = {
        pause: (id: string) => pauseRun(store.db, id),
        resume: (id: string) => resumeRun(store.db, id),
        cancel: (id: string) => cancelRun(store.db, id, start),
        retry: (id: string) => retryRejected(store.db, id),
        verify: (id: string) => verifyAgain(store.db, id),
        undo: (id: string) => undoRun(store.db, id),
      };
      for (const state of ['queued', 'running', 'paused', 'failed', 'completed', 'cancelled', 'undone'] as const) {
        for (const action of ['pause', 'resume', 'cancel', 'retry', 'verify', 'undo'] as const) {
          const { id } = await add();
          await store.db.updateTable('import_runs').set({ state }).where('id', '=', id).execute();
          const run = await getRun(store.db, id);
          const allowed = run !== undefined && allowedActions(run).includes(action);
          const worked = await act[action](id).then(
            () => true,
            (error: unknown) => !(error instanceof RunTransitionError),
          );
          expect({ state, action, worked }).toEqual({ state, action, worked: allowed });
        }
      }
    });

    it('a run in the stage undo can be paused and resumed, but not cancelled or undone twice', async () => {
      const run = await add({ options: { ...runOptions, target: { kind: 'project' } } });
      await store.db.updateTable('import_runs').set({ state: 'cancelled' }).where('id', '=', run.id).execute();
      await undoRun(store.db, run.id);
      await expect(cancelRun(store.db, run.id, start)).rejects.toThrow(RunTransitionError);
      await expect(undoRun(store.db, run.id)).rejects.toThrow(RunTransitionError);
      await pauseRun(store.db, run.id);
      expect(await resumeRun(store.db, run.id)).toMatchObject({ state: 'queued', stage: 'undo' });
      const claim = await claimRun(store.db, start, 1000, { onlyRun: run.id });
      if (claim === undefined) throw new Error('expected a claim');
      await completeRun(store.db, claim, start);
      expect(await stateOf(run)).toBe('undone');
    });

    it('a concurrent pause and cancel are applied one after the other, and neither is lost', async () => {
      const run = await add();
      await Promise.all([pauseRun(store.db, run.id).catch(() => undefined), cancelRun(store.other, run.id, start)]);
      expect(await stateOf(run)).toBe('cancelled');
    });
  });
}
