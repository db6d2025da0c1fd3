import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { mergePersons, type MergeRule } from './merge-persons.ts';
import { writePersonChanges, type PersonChanges } from './person-rows.ts';
import { PersonStore } from './person-store.ts';
import { parseRegisters } from './registers-text.ts';

interface Action {
  readonly id: string;
  readonly other: string | null;
  readonly rule: MergeRule;
  readonly set: number | null;
}

function act(store: PersonStore, projectId: number, { id, other, rule, set }: Action, micros: number): void {
  const request = { projectId, targetId: id, rule, eventUuid: 'e', micros };
  // A low limit, so that the counts of ids decide often.
  if (other !== null) mergePersons(store, { ...request, otherId: other }, 4);
  const person = store.touch(projectId, id, micros);
  if (set !== null) store.update(person, { set: { [`k${set % 3}`]: set }, setOnce: { first: set }, unset: [] }, micros);
}

/** Runs windows of actions; the changes of each are written only after the next one is computed, as the pipeline does. */
async function run(db: Metadata, projectId: number, windows: readonly (readonly Action[])[], bytesMax: number) {
  const store = new PersonStore(db, () => bytesMax);
  let waiting: { number: number; changes: PersonChanges } | undefined;
  const commit = async (): Promise<void> => {
    if (waiting === undefined) return;
    const { number, changes } = waiting;
    await db.transaction().execute((tx) => writePersonChanges(tx, changes));
    store.committed(number);
    waiting = undefined;
  };
  let micros = 1000;
  for (const [at, actions] of windows.entries()) {
    store.begin(at + 1);
    for (const { id, other } of actions) {
      if (other === null) store.want(projectId, id);
      else for (const each of [id, other]) store.wantForMerge(projectId, each);
    }
    await store.load();
    for (const action of actions) act(store, projectId, action, (micros += 7));
    const changes = store.takeChanges();
    await commit();
    waiting = { number: at + 1, changes };
  }
  await commit();
}

async function stateOf(db: Metadata, projectId: number) {
  const persons = await db
    .selectFrom('persons')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('uuid')
    .execute();
  const ids = await db
    .selectFrom('person_distinct_ids')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('distinct_id')
    .execute();
  // Uuids depend on the project, so persons are identified by their ids.
  const number = new Map(ids.map((row) => [row.person_uuid, '']));
  for (const { person_uuid, distinct_id } of ids) number.set(person_uuid, `${number.get(person_uuid)} ${distinct_id}`);
  return {
    persons: persons
      .map((row) => [number.get(row.uuid), row.created_at_micros, row.is_identified, row.registers].join(' | '))
      .sort(),
    idCounts: [...Map.groupBy(ids, (row) => row.person_uuid).values()].map(({ length }) => length).sort(),
    orphans: persons.filter((row) => !number.has(row.uuid)).length,
    lost: ids.filter((row) => !persons.some((person) => person.uuid === row.person_uuid)).length,
  };
}

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', '__proto__');
const action: fc.Arbitrary<Action> = fc.record({
  id,
  other: fc.option(id, { freq: 2 }),
  rule: fc.constantFrom<MergeRule>('always', 'unless_identified', 'first_user'),
  set: fc.option(fc.nat({ max: 9 })),
});

describe('the cache of persons', () => {
  it('gives the same persons with room for two or three as for all, and with one window as with several', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    let project = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(action, { maxLength: 6 }), { maxLength: 8 }), async (windows) => {
        project += 3;
        await run(db, project, windows, 1000);
        await run(db, project + 1, windows, 1e6);
        await run(db, project + 2, [windows.flat()], 1e6);
        const [small, large, single] = [
          await stateOf(db, project),
          await stateOf(db, project + 1),
          await stateOf(db, project + 2),
        ];
        expect(small).toEqual(large);
        expect(single).toEqual(large);
        expect([small.orphans, small.lost]).toEqual([0, 0]);
        expect(Math.max(0, ...large.idCounts)).toBeLessThanOrEqual(4);
      }),
      { numRuns: 150 },
    );
  });

  describe('with room for all persons', () => {
    const count = 100_000;
    /** Whether the person of the id is in memory. */
    const isCached = (store: PersonStore, id: string): boolean => {
      store.want(1, id);
      const isKnown = !store.wantsAny;
      store.begin(0);
      return isKnown;
    };
    /** Runs two windows, of which `committed` are stored; the second looks up `used` persons of the first. */
    const twoGenerations = async (used: number, committed: number): Promise<PersonStore> => {
      await using metadata = await tempMetadata();
      const store = new PersonStore(metadata.db);
      for (const window of [1, 2]) {
        store.begin(window);
        for (let n = 0; n < count; n++) store.create(1, `${window}-${n}`, 1000);
        const again = window === 2 ? Array.from({ length: used }, (_, n) => `1-${n}`) : [];
        for (const id of again) store.find(1, id);
        store.takeChanges();
        if (window <= committed) store.committed(window);
      }
      store.begin(3);
      return store;
    };

    it('unused persons are evicted after as many new ones, except those that are not stored', async () => {
      const store = await twoGenerations(10, 2);
      expect([isCached(store, '1-9'), isCached(store, '1-10'), isCached(store, '2-0')]).toEqual([true, false, true]);
      const unstored = await twoGenerations(10, 0);
      expect([isCached(unstored, '1-10'), isCached(unstored, '2-0')]).toEqual([true, true]);
    });

    it('no person is evicted if one in fifty is used', async () => {
      const store = await twoGenerations(count / 50 + 1, 2);
      expect(isCached(store, `1-${count - 1}`)).toBe(true);
    });
  });

  it('writes a decreasing creation time once per window, and continues from it in a later window', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    const store = new PersonStore(db);
    for (const [window, times] of [
      [1, [9000, 8000]],
      [2, [7000, 6500, 7500, 6000]],
      [3, [6400, 6000]],
    ] as const) {
      store.begin(window);
      store.want(1, 'a');
      await store.load();
      for (const micros of times) store.touch(1, 'a', micros);
      const changes = store.takeChanges();
      expect(changes.persons.map((row) => row.created_at_micros)).toEqual(window === 3 ? [] : [Math.min(...times)]);
      await db.transaction().execute((tx) => writePersonChanges(tx, changes));
      store.committed(window);
    }
    const stored = await db.selectFrom('persons').select('created_at_micros').execute();
    expect(stored).toEqual([{ created_at_micros: 6000 }]);
  });

  it.each([1, 2, 3, 4])('operations count after %i windows without the person as immediately', async (pause) => {
    await using metadata = await tempMetadata();
    const store = new PersonStore(metadata.db);
    const stage = (op: 'set' | 'setOnce', json: string, micros: number): void => {
      const bytes = Buffer.from(json);
      store.stage(store.touch(1, 'a', 1000), op, micros, bytes, 0, bytes.length);
    };
    const window = (number: number, work: () => void): string | undefined => {
      store.begin(number);
      work();
      const [row] = store.takeChanges().persons;
      store.committed(number);
      return row?.registers;
    };
    window(1, () => stage('set', '{"plan":"free","n":1}', 5000));
    for (let rest = 1; rest < pause; rest++) expect(window(1 + rest, () => {})).toBeUndefined();
    // An older value and an equal one: nothing to write.
    expect(window(1 + pause, () => stage('set', '{"plan":"old","n":1}', 4000))).toBeUndefined();
    const registers = window(2 + pause, () => {
      stage('set', '{"plan":"paid"}', 6000);
      stage('setOnce', '{"first":true}', 3000);
    });
    expect(Object.fromEntries(parseRegisters(registers ?? ''))).toEqual({
      plan: { v: 'paid', t: 6000, k: 'set' },
      n: { v: 1, t: 5000, k: 'set' },
      first: { v: true, t: 3000, k: 'once' },
    });
  });

  it('does not write an unchanged person', async () => {
    await using metadata = await tempMetadata();
    const store = new PersonStore(metadata.db);
    const plain = { id: 'a', other: null, rule: 'unless_identified' as const, set: null };
    await run(metadata.db, 1, [[plain, { ...plain, set: 1 }]], 1e6);
    store.begin(1);
    store.want(1, 'a');
    await store.load();
    act(store, 1, plain, 9_000_000);
    act(store, 1, plain, 1000);
    expect(store.takeChanges().persons).toHaveLength(1);
    store.begin(2);
    act(store, 1, plain, 1000);
    expect(store.takeChanges()).toEqual({ persons: [], sameCreation: new Set(), distinctIds: [], merges: [] });
  });
});
