import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../../src/base/time.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { now } from '../../support/metadata-rows.ts';
import { addDestination, addNoticeProject, failedRun, type NoticeProject } from '../../support/notices.ts';
import { settleConditions, type Condition } from '../../../src/queue/notices/conditions.ts';
import {
  claimDelivery,
  findDelivery,
  pruneDeliveries,
  releaseDelivery,
  settleDelivery,
  enqueueNotice,
} from '../../../src/queue/notices/outbox.ts';

export interface NoticeStore extends AsyncDisposable {
  /** Migrated; without projects. */
  readonly db: Metadata;
  /** Another handle on the same store, as another process has. May be the same one if only one is possible. */
  readonly other: Metadata;
}

const leaseMs = 1000;

/** The promises of notifications on every metadata store. Real stores only. */
export function testNotices(open: () => Promise<NoticeStore>): void {
  let store: NoticeStore;
  let owner: NoticeProject;
  beforeEach(async () => {
    store = await open();
    owner = await addNoticeProject(store.db);
  });
  afterEach(() => store[Symbol.asyncDispose]());
  const use = (): Use => ({ ...store, owner });
  testOutbox(use);
  testConditions(use);
}

interface Use extends Pick<NoticeStore, 'db' | 'other'> {
  readonly owner: NoticeProject;
}

async function deliveries(db: Metadata): Promise<string[]> {
  const rows = await db.selectFrom('notices').select('notice').orderBy('id').execute();
  return rows.map(({ notice }) => {
    const { event, state } = JSON.parse(notice) as { event: string; state: string };
    return `${event} ${state}`;
  });
}

function testOutbox(use: () => Use): void {
  describe('the outbox', () => {
    it('a notification exists if and only if its event does', async () => {
      const { db, owner } = use();
      await addDestination(db, owner);
      const broken = db.transaction().execute(async (tx) => {
        await enqueueNotice(tx, failedRun(owner.projectId), now);
        throw new Error('it did not happen');
      });
      await expect(broken).rejects.toThrow('it did not happen');
      expect(await deliveries(db)).toEqual([]);
      await db.transaction().execute((tx) => enqueueNotice(tx, failedRun(owner.projectId), now));
      expect(await deliveries(db)).toEqual(['run_failed happened']);
    });

    it('goes to subscribed destinations, not to those of other owners or events or to disabled ones', async () => {
      const { db, owner } = use();
      const other = await addNoticeProject(db);
      await addDestination(db, other);
      await addDestination(db, { ...owner, projectId: null });
      await addDestination(db, owner, { events: ['config_failing'] });
      await addDestination(db, owner, { enabled: false });
      const wanted = await addDestination(db, owner);
      await enqueueNotice(db, failedRun(owner.projectId), now);
      const rows = await db.selectFrom('notices').select(['destination_id', 'notice']).execute();
      expect(rows.map(({ destination_id: id }) => id)).toEqual([wanted.id]);
      expect(JSON.parse(rows[0]?.notice ?? '')).toMatchObject({ project: { id: owner.projectId, name: 'Shop' } });
    });

    it('concurrent processes claim each notification once', async () => {
      const { db, other, owner } = use();
      await addDestination(db, owner);
      for (let at = 0; at < 10; at += 1) await enqueueNotice(db, failedRun(owner.projectId), now);
      const takeAll = async (handle: Metadata): Promise<string[]> => {
        const ids: string[] = [];
        for (;;) {
          const delivery = await claimDelivery(handle, now, leaseMs);
          if (delivery === undefined) return ids;
          ids.push(delivery.id);
        }
      };
      const taken = (await Promise.all([takeAll(db), takeAll(other), takeAll(db)])).flat();
      expect(taken).toHaveLength(10);
      expect(new Set(taken).size).toBe(10);
    });

    it('a notification whose sender died is claimed by another, and the dead one can no longer write', async () => {
      const { db, other, owner } = use();
      await addDestination(db, owner);
      await enqueueNotice(db, failedRun(owner.projectId), now);
      const dead = await claimDelivery(db, now, leaseMs);
      if (dead === undefined) throw new Error('expected a notification to be due');
      expect(await claimDelivery(other, now + leaseMs - 1, leaseMs)).toBeUndefined();
      const heir = await claimDelivery(other, now + leaseMs + 1, leaseMs);
      expect(heir).toMatchObject({ id: dead.id, attempts: 2 });
      expect(await settleDelivery(db, dead, { kind: 'sent' }, now)).toBeUndefined();
      if (heir === undefined) throw new Error('expected the notification');
      expect(await settleDelivery(other, heir, { kind: 'sent' }, now)).toBe('sent');
    });

    it('is retried up to the limit, and then fails with the reason', async () => {
      const { db, owner } = use();
      const { id: destination } = await addDestination(db, owner);
      await enqueueNotice(db, failedRun(owner.projectId), now);
      await db.updateTable('notices').set({ attempts_max: 2 }).execute();
      const refuse = async (at: number): Promise<string | undefined> => {
        const delivery = await claimDelivery(db, at, leaseMs);
        if (delivery === undefined) return 'not due';
        return settleDelivery(db, delivery, { kind: 'refused', error: 'no', final: false, delayMs: 5000 }, at);
      };
      expect(await refuse(now)).toBe('queued');
      expect(await refuse(now + 4999)).toBe('not due');
      expect(await refuse(now + 5000)).toBe('failed');
      const [row] = await db.selectFrom('notices').select('id').execute();
      expect(await findDelivery(db, destination, row?.id ?? '')).toMatchObject({
        state: 'failed',
        attempts: 2,
        error: 'no',
        next_attempt_at: null,
      });
    });

    it('a release costs no attempt', async () => {
      const { db, owner } = use();
      await addDestination(db, owner);
      await enqueueNotice(db, failedRun(owner.projectId), now);
      const taken = await claimDelivery(db, now, leaseMs);
      if (taken === undefined) throw new Error('expected a notification to be due');
      await releaseDelivery(db, taken);
      expect(await claimDelivery(db, now, leaseMs)).toMatchObject({ id: taken.id, attempts: 1 });
    });

    it('a sent notification is removed after a week, a queued one never', async () => {
      const { db, owner } = use();
      await addDestination(db, owner);
      await enqueueNotice(db, failedRun(owner.projectId), now);
      const taken = await claimDelivery(db, now, leaseMs);
      if (taken === undefined) throw new Error('expected a notification to be due');
      await settleDelivery(db, taken, { kind: 'sent' }, now);
      await enqueueNotice(db, failedRun(owner.projectId), now);
      await pruneDeliveries(db, now + 6 * 24 * hourMs);
      expect(await deliveries(db)).toHaveLength(2);
      await pruneDeliveries(db, now + 400 * 24 * hourMs);
      expect(await db.selectFrom('notices').select('state').execute()).toEqual([{ state: 'queued' }]);
    });
  });
}

function testConditions(use: () => Use): void {
  const failing = (projectId: number): Condition => ({
    subject: 'config 12',
    notice: {
      event: 'config_failing',
      projectId,
      summary: 'GeoIP: no database',
      action: '',
      target: 'transformations/12',
      details: { config: 12 },
    },
    recovered: 'GeoIP works again.',
  });

  describe('lasting conditions', () => {
    it('is reported once while it lasts, and once when it has been absent for five minutes', async () => {
      const { db, owner } = use();
      await addDestination(db, owner);
      const lasting = [failing(owner.projectId)];
      for (let at = 0; at < 5; at += 1) await settleConditions(db, lasting, now + at * minuteMs);
      expect(await deliveries(db)).toEqual(['config_failing raised']);
      await settleConditions(db, [], now + 6 * minuteMs);
      await settleConditions(db, [], now + 10 * minuteMs);
      expect(await deliveries(db)).toHaveLength(1);
      await settleConditions(db, [], now + 11 * minuteMs);
      await settleConditions(db, [], now + 12 * minuteMs);
      expect(await deliveries(db)).toEqual(['config_failing raised', 'config_failing recovered']);
      await settleConditions(db, lasting, now + 13 * minuteMs);
      expect(await deliveries(db)).toHaveLength(3);
    });

    it('a config that fails on every other event counts as failing', async () => {
      const { db, owner } = use();
      await addDestination(db, owner);
      for (let at = 0; at < 100; at += 1) {
        await settleConditions(db, at % 2 === 0 ? [failing(owner.projectId)] : [], now + at * 10_000);
      }
      expect(await deliveries(db)).toEqual(['config_failing raised']);
    });

    it('one of several concurrent processes reports it', async () => {
      const { db, other, owner } = use();
      await addDestination(db, owner);
      const lasting = [failing(owner.projectId)];
      await Promise.all([db, other, db, other].map((handle) => settleConditions(handle, lasting, now)));
      expect(await deliveries(db)).toEqual(['config_failing raised']);
      await settleConditions(db, [], now);
      const later = now + 5 * minuteMs;
      await Promise.all([db, other, db, other].map((handle) => settleConditions(handle, [], later)));
      expect(await deliveries(db)).toEqual(['config_failing raised', 'config_failing recovered']);
    });

    it('a run that waits for less than five minutes is not reported', async () => {
      const { db, owner } = use();
      await addDestination(db, owner);
      const base = failing(owner.projectId);
      const waits = [
        { ...base, subject: 'run r1', notice: { ...base.notice, event: 'run_waiting' as const }, recovered: '' },
      ];
      await settleConditions(db, waits, now);
      await settleConditions(db, waits, now + 4 * minuteMs);
      await settleConditions(db, [], now + 4 * minuteMs);
      await settleConditions(db, waits, now + 5 * minuteMs);
      expect(await deliveries(db)).toEqual([]);
      await settleConditions(db, waits, now + 10 * minuteMs);
      expect(await deliveries(db)).toEqual(['run_waiting raised']);
    });
  });
}
