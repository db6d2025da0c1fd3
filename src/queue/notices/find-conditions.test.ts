import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { now, sampleConfig, samplePlugin } from '../../../test/support/metadata-rows.ts';
import { addDestination, addNoticeProject, type NoticeProject } from '../../../test/support/notices.ts';
import { newRun } from '../../../test/support/runs.ts';
import { isoMicros } from '../../base/clock.ts';
import { hourMs } from '../../base/time.ts';
import type { LaneStatus } from '../../wire/contract/status.ts';
import { createRun } from '../../imports/run/run-store.ts';
import { findConditions, type FindConditionsDeps } from './find-conditions.ts';

let store: TempMetadata;
let owner: NoticeProject;
beforeEach(async () => {
  store = await tempMetadata();
  owner = await addNoticeProject(store.db);
});
afterEach(() => store[Symbol.asyncDispose]());

const lane: LaneStatus = {
  waiting_events: 0,
  waiting_bytes: 0,
  oldest_seconds: 0,
  lag_seconds: 0,
  is_full: false,
  received_per_second: 0,
  stored_per_second: 0,
};

async function subjects(more: Partial<FindConditionsDeps> = {}): Promise<string[]> {
  const limits = { deadLettersMax: 2, violationsMax: 5, lagSecondsMax: 300 };
  const facts = { lanes: async () => ({ live: lane, historical: lane }), disk: undefined };
  const found = await findConditions({ db: store.db, limits, ...facts, ...more }, now);
  return found.map(({ subject, notice }) => `${notice.event}: ${subject}`);
}

describe('lasting conditions', () => {
  it('are enabled configs with an error, except errors recorded by a run', async () => {
    const { id: plugin } = await store.db
      .insertInto('plugins')
      .values(samplePlugin)
      .returning('id')
      .executeTakeFirstOrThrow();
    const add = async (more: object): Promise<number> => {
      const row = { ...sampleConfig(owner.projectId, plugin), ...more };
      return (await store.db.insertInto('plugin_configs').values(row).returning('id').executeTakeFirstOrThrow()).id;
    };
    const failing = await add({ error: 'no database', error_source: 'transform' });
    await add({ error: '' });
    await add({ error: 'off', enabled: 0 });
    await add({ error: 'in the bin', deleted: 1 });
    await add({ error: 'a run', error_source: 'import' });
    expect(await subjects()).toEqual([`config_failing: config ${failing}`]);
  });

  it('are waiting runs, except those of the command line', async () => {
    const waiting = JSON.stringify({ reason: 'the source answers 429' });
    const run = await createRun(store.db, newRun({ projectId: owner.projectId }));
    await createRun(store.db, newRun({ projectId: 0 }));
    expect(await subjects()).toEqual([]);
    await store.db.updateTable('import_runs').set({ state: 'running', waiting }).execute();
    expect(await subjects()).toEqual([`run_waiting: run ${run.id}`]);
  });

  it('are projects with a listener and more open dead letters of the last hour than the limit', async () => {
    const add = async (id: string, more: object = {}): Promise<void> => {
      await store.db
        .insertInto('dead_letters')
        .values({
          id,
          project_id: owner.projectId,
          lane: 'live',
          reason: 'r',
          detail: '',
          attr: null,
          event: null,
          distinct_id: null,
          event_uuid: null,
          original: Buffer.from('{}'),
          received_at: isoMicros(now - 1000),
          rows_stored: 0,
          state: 'open',
          decided_at: null,
          replay_id: null,
          ...more,
        })
        .execute();
    };
    for (const id of ['a', 'b']) await add(id);
    await add('old', { received_at: isoMicros(now - hourMs - 1) });
    await add('decided', { state: 'discarded' });
    await addDestination(store.db, owner);
    expect(await subjects()).toEqual([]);
    await add('c');
    expect(await subjects()).toEqual([`dead_letters_high: dead letters ${owner.projectId}`]);
    await store.db.updateTable('notice_destinations').set({ enabled: 0 }).execute();
    expect(await subjects()).toEqual([]);
  });

  it('are projects of which events were refused because of their limits a moment ago', async () => {
    const add = (hour: number, type: string, seenMsAgo: number) =>
      store.db
        .insertInto('ingestion_warnings')
        .values({
          project_id: owner.projectId,
          type,
          hour: isoMicros(now - hour * hourMs),
          count: 7,
          last_seen: isoMicros(now - seenMsAgo),
          samples: '[]',
        })
        .execute();
    await add(0, 'clock_skew_corrected', 0);
    await add(1, 'project_limit_exceeded', 130_000);
    expect(await subjects()).toEqual([]);
    await add(0, 'project_limit_exceeded', 1000);
    expect(await subjects()).toEqual([`project_limited: limits ${owner.projectId}`]);
  });

  it('are projects with a listener whose tracking plan is violated more often than the limit', async () => {
    const add = (event: string, hoursAgo: number, count: number) =>
      store.db
        .insertInto('tracking_plan_violations')
        .values({
          project_id: owner.projectId,
          hour: isoMicros(Math.floor(now / hourMs) * hourMs - hoursAgo * hourMs),
          event,
          property: '',
          rule: 'type',
          count,
          last_seen: isoMicros(now),
          samples: '[]',
        })
        .execute();
    await add('a', 0, 3);
    await add('a', 1, 2);
    await add('a', 2, 1000);
    await addDestination(store.db, owner);
    expect(await subjects()).toEqual([]);
    await add('b', 0, 1);
    expect(await subjects()).toEqual([`tracking_plan_violated: tracking plan ${owner.projectId}`]);
    await store.db.updateTable('notice_destinations').set({ enabled: 0 }).execute();
    expect(await subjects()).toEqual([]);
  });

  it('are an almost full disk, and live events that wait too long; history may wait', async () => {
    const late = { ...lane, oldest_seconds: 301 };
    const room = (free: number) => async () => ({ free_bytes: free * 1024 ** 3, total_bytes: 100 * 1024 ** 3 });
    expect(await subjects({ disk: room(6), lanes: async () => ({ live: lane, historical: late }) })).toEqual([]);
    expect(await subjects({ disk: room(4), lanes: async () => ({ live: late, historical: lane }) })).toEqual([
      'disk_low: disk',
      'lag_high: lag',
    ]);
  });
});
