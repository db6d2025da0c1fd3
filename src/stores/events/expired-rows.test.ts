import { expect, it } from 'vitest';
import { expiryConformance } from '../../../test/conformance/event-store/expiry.ts';
import { countRows, newProject } from '../../../test/conformance/event-store/event-store.ts';
import { attachAll, insertSegment, runRow } from '../../../test/support/run-table-rows.ts';
import { StoreDeniedError } from './eventstore.ts';
import { tempChdb } from '../../../test/support/chdb.ts';
import { expiredSql, removeExpiredRows, type ProjectExpiry } from './expired-rows.ts';

expiryConformance('chDB', () => tempChdb());

const expiry: ProjectExpiry = { projectId: 7, keptSince: { live: 5n, historical: 5n }, events: [] };

it('removes rows that a run attached, not those of its table, which can be attached again', async () => {
  const chdb = await tempChdb();
  try {
    const run = { projectId: newProject(), runId: 'run-a' };
    await chdb.store.runTables.create(run);
    await insertSegment(
      chdb.store,
      run,
      's1',
      [1, 2, 3].map((number) => runRow(run, number)),
    );
    const expiries = [{ ...expiry, projectId: run.projectId, keptSince: { live: null, historical: 2n ** 60n } }];
    for (let times = 0; times < 2; times++) {
      expect(await attachAll(chdb.store, run)).toEqual([202_403]);
      expect(await countRows(chdb.store, run.projectId)).toEqual({ all: 3, shown: 3 });
      expect(await chdb.store.removeExpired(202_403, expiries)).toMatchObject({ droppedRows: 3, deletedRows: 0 });
      expect(await countRows(chdb.store, run.projectId)).toEqual({ all: 0, shown: 0 });
      expect(await chdb.store.runTables.partitions(run)).toMatchObject([{ month: 202_403, rows: 3 }]);
    }
  } finally {
    await chdb.close();
  }
});

it('no byte of an event name becomes SQL text', () => {
  const hostile = "') OR 1=1; DROP TABLE events --";
  const sql = expiredSql({ ...expiry, events: [{ event: hostile, live: 1n, historical: null }] });
  expect(sql).not.toContain('DROP');
  expect(sql).toContain(`unhex('${Buffer.from(hostile).toString('hex')}')`);
});

it('counts again what a merge has replaced, and rewrites it in the end', async () => {
  const commands: string[] = [];
  const removed = await removeExpiredRows(
    {
      table: 'events',
      rows: async <Row>(sql: string) =>
        (sql.includes('system.mutations')
          ? []
          : sql.includes('system.parts')
            ? [{ name: '202403_1_1_0', bytes: '100' }]
            : [{ part: '202403_1_1_0', total: '4', expired: '4' }]) as Row[],
      command: async (sql) => {
        commands.push(sql.split(' ').slice(3, 5).join(' '));
        if (sql.includes('DROP PART')) throw new Error('Code: 232. DB::Exception: no part');
      },
    },
    202_403,
    [expiry],
  );
  expect(commands).toEqual(['DROP PART', 'DROP PART', 'DROP PART', 'DELETE IN']);
  expect(removed).toEqual({ droppedRows: 0, droppedParts: 0, deletedRows: 4, bytes: 100 });
});

it('rejects with the error of the engine if a part cannot be dropped', async () => {
  const removal = removeExpiredRows(
    {
      table: 'events',
      rows: async <Row>(sql: string) =>
        (sql.includes('system.parts') ? [] : [{ part: 'p', total: '1', expired: '1' }]) as Row[],
      command: () => Promise.reject(new Error('Code: 243. DB::Exception: not enough space')),
    },
    202_403,
    [expiry],
  );
  await expect(removal).rejects.toThrow('not enough space');
});

it('does not repeat a delete that the engine has not completed, and reports why it cannot', async () => {
  const commands: string[] = [];
  const removal = removeExpiredRows(
    {
      table: 'events',
      rows: async <Row>(sql: string) =>
        (sql.includes('system.mutations')
          ? [{ reason: 'Code: 243. not enough space' }]
          : sql.includes('system.parts')
            ? []
            : [{ part: 'p', total: '2', expired: '1' }]) as Row[],
      command: async (sql) => void commands.push(sql),
    },
    202_403,
    [expiry],
  );
  await expect(removal).rejects.toThrow('The event store cannot delete expired rows: Code: 243');
  expect(commands).toEqual([]);
});

it('needs no permission for tables of the system', async () => {
  const denied = (): never => {
    throw new StoreDeniedError('denied');
  };
  const removed = await removeExpiredRows(
    {
      table: 'events',
      rows: async <Row>(sql: string) =>
        sql.includes('system.') ? denied() : ([{ part: 'p', total: '2', expired: '1' }] as Row[]),
      command: async () => undefined,
    },
    202_403,
    [expiry],
  );
  expect(removed).toEqual({ droppedRows: 0, droppedParts: 0, deletedRows: 1, bytes: 0 });
});
