import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import type { StoreReader } from '../eventstore.ts';
import { insertRows, newProject, testRow } from '../../../../test/conformance/event-store/event-store.ts';
import { missingParts, missingText, notedParts } from '../noted-parts.ts';

const days = [10_000, 20_000];

/** Stores two months of rows, each in a part, and returns the paths of the parts. */
async function fill({ store }: TempChdb): Promise<{ readonly name: string; readonly path: string }[]> {
  const project = newProject();
  for (const keyDay of days) {
    const rows = Array.from({ length: 30 }, (_, n) => testRow(project, { keyDay, distinctId: `person-${n}` }));
    await insertRows(store, `day-${keyDay}`, rows);
  }
  return store.query("SELECT name, path FROM system.parts WHERE table = 'events' AND active ORDER BY name");
}

it('a part deleted while the store is closed is reported missing when it opens again', async () => {
  const root = await mkdtemp(join(tmpdir(), 'noted-parts-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const before = await tempChdb({}, root);
  const [lost] = await fill(before);
  const noted = await notedParts(before.store);
  await before.close();
  await rm(lost?.path ?? 'no part', { recursive: true });

  const after = await tempChdb({}, root);
  onTestFinished(() => after.close());
  const missing = await missingParts(after.store, noted);
  expect([noted.length, missing]).toEqual([2, [{ name: lost?.name, rows: 30 }]]);
  expect(missingText(missing, 'stored-parts.json')).toContain(`${lost?.name}, with 30 rows`);
});

it('a part merged into another or set aside as damaged is not missing', async () => {
  const there = [{ name: '202008_1_3_1', rows: 30, active: 1 }];
  const query = async (sql: string) => (sql.includes('detached') ? [{ name: 'broken-on-start_202008_4_4_0' }] : there);
  const noted = ['202008_2_2_0', '202008_4_4_0', '202008_9_9_0'].map((name) => ({ name, rows: 10 }));
  expect(await missingParts({ query } as unknown as StoreReader, noted)).toEqual(noted.slice(2));
});
