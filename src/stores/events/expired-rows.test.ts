import { expect, it } from 'vitest';
import { expiryConformance } from '../../../test/conformance/event-store/expiry.ts';
import { tempChdb } from '../../../test/support/chdb.ts';
import { expiredSql, removeExpiredRows, type ProjectExpiry } from './expired-rows.ts';

expiryConformance('chDB', () => tempChdb());

const expiry: ProjectExpiry = { projectId: 7, keptSince: { live: 5n, historical: 5n }, events: [] };

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
        (sql.includes('system.parts')
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
