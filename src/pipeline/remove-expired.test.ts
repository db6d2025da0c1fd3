import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  countRows,
  dayMicros,
  insertRows,
  newProject,
  testRow,
} from '../../test/conformance/event-store/event-store.ts';
import { tempChdb, type TempChdb } from '../../test/support/chdb.ts';
import { tempMetadata } from '../../test/support/metadata.ts';
import { createAccount } from '../../test/support/metadata-rows.ts';
import { createLog } from '../server/telemetry/log.ts';
import { createMetrics } from '../server/telemetry/metrics.ts';
import type { RetentionPolicy } from '../wire/contract/retention.ts';
import { KeptCounts } from '../stores/events/kept-counts.ts';
import { usageByDay } from '../stores/events/counts.ts';
import { createProject } from '../stores/metadata/projects.ts';
import { findPolicy, savePolicy } from '../stores/metadata/retention-policies.ts';
import { takeLease } from '../stores/metadata/named-leases.ts';
import { nextPassAt, nightBefore, removeExpiredIfDue, type RemoveExpiredDeps } from './remove-expired.ts';

const day = 86_400_000;
const start = Date.parse('2026-11-20T12:00:00Z');

let chdb: TempChdb;
let metadata: Awaited<ReturnType<typeof tempMetadata>>;
let now: number;
let projectId: number;
let logged: Record<string, unknown>[];

beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());
beforeEach(async () => {
  metadata = await tempMetadata();
  now = start;
  logged = [];
  const { organizationId } = await createAccount(metadata.db);
  projectId = (await createProject(metadata.db, { organizationId, name: 'Shop' }, now)).id;
});
afterEach(() => metadata[Symbol.asyncDispose]());

function deps(more: Partial<RemoveExpiredDeps> = {}): RemoveExpiredDeps {
  return {
    db: metadata.db,
    store: chdb.store,
    clock: { now: async () => now },
    log: createLog('info', { write: (line: string) => void logged.push(JSON.parse(line)) }),
    metrics: createMetrics(),
    hour: 3,
    signal: new AbortController().signal,
    ...more,
  };
}

/** Sets the policy and inserts events of these ages. */
async function prepare(policy: Partial<RetentionPolicy>, daysOld: readonly number[]): Promise<void> {
  await savePolicy(metadata.db, projectId, { live_days: null, historical_days: null, events: [], ...policy }, now);
  const rows = daysOld.map((old) => {
    const keyDay = Math.floor(now / day) - old;
    return testRow(projectId, { keyDay, timestampMicros: keyDay * dayMicros });
  });
  await insertRows(chdb.store, `pass-${newProject()}`, rows);
}

async function shown(): Promise<number> {
  return (await countRows(chdb.store, projectId)).shown;
}

/** Each test has the first project of a new metadata store, and all share the event store. */
beforeEach(async () => {
  const forever = BigInt(Date.parse('2200-01-01')) * 1000n;
  const all = { projectId, keptSince: { live: forever, historical: forever }, events: [] };
  for (const month of [202_510, 202_511, 202_609, 202_610, 202_611]) await chdb.store.removeExpired(month, [all]);
});

describe('the nightly removal of expired events', () => {
  it('begins at the hour of the setting, in the night after the policy was set', async () => {
    await prepare({ live_days: 30 }, [10, 29, 30, 31, 60]);
    expect(await removeExpiredIfDue(deps())).toBeUndefined();
    now = Date.parse('2026-11-21T02:59:59Z');
    expect(await removeExpiredIfDue(deps())).toBeUndefined();
    expect(await shown()).toBe(5);
    now = Date.parse('2026-11-21T03:00:00Z');
    // 22 October is the first day that is kept: of the month before, all has expired.
    expect(await removeExpiredIfDue(deps())).toMatchObject({ droppedRows: 1, deletedRows: 2 });
    expect(await shown()).toBe(2);
    expect(await removeExpiredIfDue(deps())).toBeUndefined();
    now += day;
    expect(await removeExpiredIfDue(deps())).toMatchObject({ droppedRows: 1, deletedRows: 0 });
    expect(await shown()).toBe(1);
  });

  it('makes up for a missed night, and records what it removed', async () => {
    await prepare({ live_days: 30 }, [400, 401]);
    now = Date.parse('2026-11-25T11:00:00Z');
    const removed = await removeExpiredIfDue(deps());
    expect(removed).toMatchObject({ droppedRows: 2, deletedRows: 0 });
    const stored = await findPolicy(metadata.db, projectId);
    expect(stored?.lastPass).toEqual({
      started_at: '2026-11-25T11:00:00.000000Z',
      ended_at: '2026-11-25T11:00:00.000000Z',
      dropped_rows: 2,
      deleted_rows: 0,
      bytes: removed?.bytes,
    });
    expect(logged).toMatchObject([{ msg: 'removed expired events', projects: 1, months: 1, dropped_rows: 2 }]);
  });

  it('a policy that changes during a pass is applied as it is now', async () => {
    await prepare({ live_days: 30 }, [400, 50, 51]);
    now += day;
    const removal: RemoveExpiredDeps['store']['removeExpired'] = async (month, expiries) => {
      const removed = await chdb.store.removeExpired(month, expiries);
      await savePolicy(metadata.db, projectId, { live_days: 100, historical_days: null, events: [] }, now);
      return removed;
    };
    const query: RemoveExpiredDeps['store']['query'] = (sql, params) => chdb.store.query(sql, params);
    await removeExpiredIfDue(deps({ store: { query, removeExpired: removal } }));
    expect(await shown()).toBe(2);
  });

  it('is done by one process at a time', async () => {
    await prepare({ live_days: 30 }, [40]);
    now += day;
    await takeLease(metadata.db, { name: 'retention', owner: 'another process' }, now, 60_000);
    expect(await removeExpiredIfDue(deps())).toBeUndefined();
    expect(await shown()).toBe(1);
    now += 61_000;
    expect(await removeExpiredIfDue(deps())).toMatchObject({ deletedRows: 0, droppedRows: 1 });
    const both = await Promise.all([removeExpiredIfDue(deps()), removeExpiredIfDue(deps())]);
    expect(both).toEqual([undefined, undefined]);
  });

  it('resumes after an interruption: the night is not done until every month is', async () => {
    await prepare({ live_days: 30 }, [400, 50]);
    now += day;
    const stop = new AbortController();
    const removeExpired: RemoveExpiredDeps['store']['removeExpired'] = async (month, expiries) => {
      stop.abort();
      return await chdb.store.removeExpired(month, expiries);
    };
    const query: RemoveExpiredDeps['store']['query'] = (sql, params) => chdb.store.query(sql, params);
    expect(await removeExpiredIfDue(deps({ store: { query, removeExpired }, signal: stop.signal }))).toBeUndefined();
    expect(await shown()).toBe(1);
    expect(await removeExpiredIfDue(deps())).toMatchObject({ droppedRows: 1 });
    expect(await shown()).toBe(0);
  });

  it('leaves a project without a policy, and one that keeps all, unchanged', async () => {
    await prepare({ events: [{ event: '$pageview', live_days: null, historical_days: 1 }] }, [400]);
    await insertRows(chdb.store, `none-${newProject()}`, [testRow(999_999, { keyDay: 20_000 })]);
    now += day;
    await removeExpiredIfDue(deps());
    expect(await shown()).toBe(1);
    expect(await countRows(chdb.store, 999_999)).toEqual({ all: 1, shown: 1 });
  });

  it('kept counts are those of the remaining events', async () => {
    await prepare({ live_days: 30 }, [10, 20, 40, 400, 401]);
    const kept = new KeptCounts(chdb.store);
    const counted = async (): Promise<number> => {
      const days = await usageByDay(chdb.store, projectId, {}, kept);
      return days.reduce((sum, { standard }) => sum + standard, 0);
    };
    expect(await counted()).toBe(5);
    now += day;
    await removeExpiredIfDue(deps());
    expect(await counted()).toBe(2);
  });
});

describe('the night', () => {
  it.each([
    ['2026-11-20T12:00:00Z', 3, '2026-11-20T03:00:00Z'],
    ['2026-11-20T02:59:59Z', 3, '2026-11-19T03:00:00Z'],
    ['2026-11-20T03:00:00Z', 3, '2026-11-20T03:00:00Z'],
    ['2026-11-20T23:59:59Z', 0, '2026-11-20T00:00:00Z'],
    ['2026-11-20T00:00:00Z', 23, '2026-11-19T23:00:00Z'],
  ])('before %s at hour %i began at %s', (time, hour, night) => {
    expect(new Date(nightBefore(Date.parse(time), hour)).toISOString()).toBe(new Date(night).toISOString());
  });

  it('after the last pass is the next, and a missed one is now', () => {
    const at = (text: string): number => Date.parse(text);
    const time = at('2026-11-20T12:00:00Z');
    expect(nextPassAt({ passedAt: at('2026-11-20T03:10:00Z') }, time, 3)).toBe(at('2026-11-21T03:00:00Z'));
    expect(nextPassAt({ passedAt: at('2026-11-19T03:10:00Z') }, time, 3)).toBe(time);
  });
});
