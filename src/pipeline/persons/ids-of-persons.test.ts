import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { idsOfPersons } from './ids-of-persons.ts';
import { mergePersons } from './merge-persons.ts';
import { writePersonChanges } from './person-rows.ts';
import { PersonStore } from './person-store.ts';
import { personsWithIds, removePersons } from './rebuild-rows.ts';

type Step =
  | { readonly kind: 'events'; readonly ids: readonly string[] }
  | { readonly kind: 'merge'; readonly id: string; readonly other: string }
  | { readonly kind: 'rebuild'; readonly id: string }
  /** Rows as stored before persons contained the id that they were created for. */
  | { readonly kind: 'age' };

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('events'), ids: fc.array(id, { maxLength: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('merge'), id, other: id }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rebuild'), id }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('age') }) },
);

/** Runs a window, then the steps that happen between windows. */
async function runWindow(db: Metadata, store: PersonStore, projectId: number, number: number, steps: readonly Step[]) {
  store.begin(number);
  for (const each of ['a', 'b', 'c', 'd', 'e', 'f']) store.want(projectId, each);
  await store.load();
  for (const each of steps) {
    if (each.kind === 'events') for (const distinctId of each.ids) store.touch(projectId, distinctId, 1000);
    if (each.kind !== 'merge') continue;
    mergePersons(store, {
      projectId,
      targetId: each.id,
      otherId: each.other,
      rule: 'always',
      eventUuid: 'e',
      micros: 1,
    });
  }
  const changes = store.takeChanges();
  await db.transaction().execute((tx) => writePersonChanges(tx, changes));
  store.committed(number);
  for (const each of steps) {
    if (each.kind === 'age') {
      await db.updateTable('persons').set({ first_id: null }).where('project_id', '=', projectId).execute();
      await db.updateTable('person_distinct_ids').set({ is_first: null }).where('project_id', '=', projectId).execute();
    } else if (each.kind === 'rebuild') {
      const { uuids } = await personsWithIds(db, projectId, [each.id]);
      await db.transaction().execute((tx) => removePersons(tx, projectId, uuids));
      store.reset();
    }
  }
}

async function idsOfAll(db: Metadata, projectId: number) {
  const ids = db.selectFrom('person_distinct_ids').where('project_id', '=', projectId);
  const stored = await ids.select(['distinct_id', 'person_uuid']).execute();
  const persons = await db.selectFrom('persons').select('uuid').where('project_id', '=', projectId).execute();
  const uuids = persons.map(({ uuid }) => uuid);
  const sorted = (rows: readonly { readonly distinct_id: string; readonly person_uuid: string }[]): string[] =>
    rows.map(({ distinct_id, person_uuid }) => `${person_uuid} ${distinct_id}`).sort();
  const indexed = await ids.select('distinct_id').where('is_first', 'is', null).execute();
  return { stored: sorted(stored), found: sorted(await idsOfPersons(db, projectId, uuids)), indexed: indexed.length };
}

describe('ids of persons', () => {
  it('a person is found with exactly its ids after merges, rebuilds and from older rows', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    let projectId = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 5 }), { maxLength: 6 }), async (windows) => {
        projectId += 1;
        const store = new PersonStore(db);
        for (const [at, steps] of windows.entries()) await runWindow(db, store, projectId, at + 1, steps);
        const { stored, found } = await idsOfAll(db, projectId);
        expect(found).toEqual(stored);
      }),
      { numRuns: 150 },
    );
  });

  it('the index by person contains all ids except the first', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    const store = new PersonStore(db);
    await runWindow(db, store, 1, 1, [
      { kind: 'events', ids: ['a', 'b', 'c'] },
      { kind: 'merge', id: 'd', other: 'e' },
    ]);
    expect((await idsOfAll(db, 1)).indexed).toBe(1);
    await runWindow(db, store, 1, 2, [{ kind: 'merge', id: 'a', other: 'b' }]);
    expect((await idsOfAll(db, 1)).indexed).toBe(2);
  });
});
