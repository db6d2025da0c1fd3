import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createPersonCounts } from './person-counts.ts';
import { writePersonChanges } from './person-rows.ts';

async function addPersons(db: Metadata, projectId: number, from: number, to: number): Promise<void> {
  const persons = Array.from({ length: to - from }, (_, n) => ({
    project_id: projectId,
    uuid: `00000000-0000-4000-8000-${String(from + n).padStart(12, '0')}`,
    created_at_micros: n,
    is_identified: 0,
    registers: '{}',
  }));
  await db
    .transaction()
    .execute((tx) => writePersonChanges(tx, { persons, sameCreation: new Set(), distinctIds: [], merges: [] }));
}

describe('the number of persons', () => {
  it('a small number is counted on every call, per project', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    const counts = createPersonCounts({ db, clock: { now: () => 1000 } });
    await addPersons(db, 1, 0, 3);
    await addPersons(db, 2, 0, 1);
    expect([await counts.of(1), await counts.of(2), await counts.of(3)]).toEqual([3, 1, 0]);
    await addPersons(db, 1, 3, 4);
    expect(await counts.of(1)).toBe(4);
  });

  it('a large number is counted again after ten seconds, and if the clock was set back', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    let now = 1000;
    const counts = createPersonCounts({ db, clock: { now: () => now } });
    await addPersons(db, 1, 0, 20_000);
    expect(await counts.of(1)).toBe(20_000);
    await addPersons(db, 1, 20_000, 20_001);
    now = 10_999;
    expect(await counts.of(1)).toBe(20_000);
    now = 11_000;
    expect(await counts.of(1)).toBe(20_001);
    await addPersons(db, 1, 20_001, 20_002);
    now = 0;
    expect(await counts.of(1)).toBe(20_002);
  });
});
