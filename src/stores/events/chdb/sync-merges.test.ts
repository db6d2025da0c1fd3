import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { EventRowWriter } from '../rows.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

const day = Math.floor(Date.parse('2024-03-05') / 86_400_000);

async function filesSynced(): Promise<number> {
  const [row] = await chdb.store.query<{ value: string }>("SELECT value FROM system.events WHERE event = 'FileSync'");
  return Number(row?.value ?? 0);
}

describe('the disk of the embedded engine', () => {
  it('a part that replaces others is synced before they are removed', async () => {
    const rows = new EventRowWriter();
    for (let n = 0; n < 100; n += 1) {
      rows.write({
        projectId: 1,
        historical: true,
        receivedAtMicros: 1_700_000_000_000_000 + n,
        timestampMicros: day * 86_400_000_000 + n,
        keyDay: day,
        uuid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
        event: 'seen',
        distinctId: `user-${n}`,
        properties: '{}',
        importRun: n % 2 === 0 ? 'run-a' : '',
      });
    }
    const before = await filesSynced();
    await chdb.store.insertBatch(rows.take(), 'one');
    const inserted = await filesSynced();
    await chdb.store.deleteRun({ projectId: 1, runId: 'run-a', from: '2024-03-05', to: '2024-03-05' });
    const ofInsert = inserted - before;
    expect(ofInsert).toBeGreaterThan(5);
    // The files of the remaining part, like those of an inserted one.
    expect((await filesSynced()) - inserted).toBeGreaterThanOrEqual(ofInsert - 2);
    expect(await chdb.store.query('SELECT count() AS n FROM events FINAL')).toEqual([{ n: '50' }]);
  });
});
