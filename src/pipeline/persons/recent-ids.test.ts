import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { mergePersons } from './merge-persons.ts';
import { loadPersons, writePersonChanges } from './person-rows.ts';
import { PersonStore } from './person-store.ts';
import { Person, personUuid } from './person.ts';
import { RecentIds } from './recent-ids.ts';

function person(projectId: number, id: string): Person {
  const uuid = personUuid(projectId, id);
  const fields = { createdAt: 0, isIdentified: false, isStored: true, version: 0, registersJson: '{}' };
  return new Person({ projectId, uuid, ...fields });
}

function at(id: string): [Buffer, number, number] {
  const bytes = Buffer.from(`"${id}"`);
  return [bytes, 1, bytes.length - 1];
}

interface Action {
  readonly projectId: number;
  readonly id: string;
  /** An id to merge with. */
  readonly other: string | null;
  readonly micros: number;
}

const anyId = fc.oneof(
  fc.constantFrom('a', 'b', 'c'),
  fc.integer({ min: 0, max: 500 }).map((n) => `user-${n}`),
  // Ids of every length, whose words differ only in their padding.
  fc.integer({ min: 1, max: 41 }).map((length) => 'x'.repeat(length)),
);
const anyAction: fc.Arbitrary<Action> = fc.record({
  projectId: fc.constantFrom(1, 2),
  id: anyId,
  other: fc.option(anyId, { freq: 5 }),
  micros: fc.integer({ min: 1, max: 1000 }),
});
const anyWindow = fc.record({
  actions: fc.array(anyAction, { size: 'max', maxLength: 120 }),
  /** What happens to the memory before the window. */
  memory: fc.constantFrom('kept', 'kept', 'rotated', 'rotated', 'reset'),
});

/** Compares the cache with the store, and caches the person if it is not. Returns the number of answers that needed no person. */
function compare(store: PersonStore, { projectId, id, micros }: Action): number {
  const person = store.find(projectId, id);
  const found = store.recent.find(projectId, ...at(id));
  if (found !== undefined && found !== person) throw new Error(`expected the person of ${id}`);
  if (found === undefined && person !== undefined) store.recent.remember(person, ...at(id));
  const times = [micros, micros - 1, 0, 1000];
  return times.filter((time) => isKnownCreation(store, projectId, id, time)).length;
}

function isKnownCreation(store: PersonStore, projectId: number, id: string, micros: number): boolean {
  if (!store.recent.wasCreatedBy(micros, projectId, ...at(id))) return false;
  const person = store.find(projectId, id);
  if (person === undefined || person.createdAt > micros) throw new Error(`expected ${id} not to be there at ${micros}`);
  return true;
}

describe('persons of recent ids', () => {
  it('an id is cached only with its own person and with a creation time that the store confirms', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    /** Confirmed creation times of persons in memory, and of others. */
    let known = 0;
    let unloaded = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyWindow, { size: 'max', maxLength: 8 }), async (windows) => {
        await db.deleteFrom('person_distinct_ids').execute();
        await db.deleteFrom('persons').execute();
        let bytesMax = Infinity;
        const store = new PersonStore(db, () => bytesMax);
        for (const [number, { actions, memory }] of windows.entries()) {
          if (memory === 'reset') store.reset();
          bytesMax = memory === 'rotated' ? 1 : Infinity;
          store.begin(number + 1);
          // Before persons are loaded: what remains of earlier windows.
          for (const action of actions) {
            for (const time of [0, action.micros])
              if (store.recent.wasCreatedBy(time, action.projectId, ...at(action.id))) {
                const [row] = await loadPersons(db, action.projectId, [action.id]);
                if (row === undefined || row.created_at_micros > time)
                  throw new Error(`expected no claim of ${action.id}`);
                if (store.find(action.projectId, action.id) === undefined) unloaded += 1;
              }
          }
          for (const { projectId, id, other } of actions)
            for (const each of [id, other ?? id]) store.want(projectId, each);
          await store.load();
          for (const action of actions) {
            known += compare(store, action);
            const { projectId, id, other, micros } = action;
            const merge = {
              projectId,
              targetId: id,
              otherId: other ?? id,
              rule: 'always' as const,
              eventUuid: 'e',
              micros,
            };
            mergePersons(store, merge);
            store.touch(projectId, id, micros);
            for (const each of actions) isKnownCreation(store, each.projectId, each.id, each.micros);
            known += compare(store, action);
          }
          const changes = store.takeChanges();
          await db.transaction().execute((tx) => writePersonChanges(tx, changes));
          store.committed(number + 1);
        }
      }),
      { numRuns: 60 },
    );
    expect(known).toBeGreaterThan(1000);
    expect(unloaded).toBeGreaterThan(20);
  });

  it('a decreased creation time is found after the next look-up, and unknown ids are not reported as created', () => {
    const recent = new RecentIds();
    const one = person(1, 'one');
    one.createdAt = 500;
    recent.remember(one, ...at('one'));
    expect([499, 500].map((micros) => recent.wasCreatedBy(micros, 1, ...at('one')))).toEqual([false, true]);
    one.createdAt = 100;
    expect(recent.wasCreatedBy(100, 1, ...at('one'))).toBe(false);
    recent.find(1, ...at('one'));
    expect(recent.wasCreatedBy(100, 1, ...at('one'))).toBe(true);
    expect(recent.wasCreatedBy(1e15, 2, ...at('one'))).toBe(false);
    for (const unknown of ['', 'other']) expect(recent.wasCreatedBy(1e15, 0, ...at(unknown))).toBe(false);
  });

  it('memory grows with the ids up to a limit and is released by clearing', () => {
    const recent = new RecentIds();
    const small = recent.bytes;
    expect(small).toBeLessThan(20_000);
    const one = person(1, 'one');
    const remember = (count: number): number => {
      for (let n = 0; n < count; n++) recent.remember(one, ...at(`id-${n}`));
      return recent.bytes;
    };
    expect(remember(20_000)).toBeLessThan(5e6);
    expect(remember(800_000)).toBe(72 * 2 ** 19);
    expect(remember(100)).toBe(72 * 2 ** 19);
    expect(recent.find(1, ...at('id-99'))).toBe(one);
    recent.clear();
    expect(recent.bytes).toBe(small);
    expect(recent.find(1, ...at('id-99'))).toBeUndefined();
  });

  it('memory grows further if creation times of more ids are looked up, and cached ids stay', () => {
    let bytesMax = 72 * 2 ** 20;
    const recent = new RecentIds(() => bytesMax);
    const one = person(1, 'one');
    const known = (from: number, to: number): number => {
      let count = 0;
      for (let n = from; n < to; n++) if (recent.wasCreatedBy(0, 1, ...at(`id-${n}`))) count++;
      return count;
    };
    const remember = (from: number, to: number): void => {
      for (let n = from; n < to; n++) recent.remember(one, ...at(`id-${n}`));
    };
    for (let n = 0; n < 900_000; n += 1000) {
      expect(known(n, n + 1000)).toBe(0);
      remember(n, n + 1000);
    }
    expect(recent.bytes).toBe(bytesMax);
    // Some were evicted.
    const before = known(0, 900_000);
    expect(before).toBeGreaterThan(600_000);
    bytesMax *= 2;
    known(1_000_000, 1_600_000);
    remember(899_999, 900_000);
    expect(recent.bytes).toBe(bytesMax);
    expect(known(0, 900_000)).toBeGreaterThan(before * 0.999);
    expect(recent.find(1, ...at('id-899999'))).toBe(one);
  });

  it('hardly any id is evicted while there is room', () => {
    const recent = new RecentIds();
    const one = person(1, 'one');
    const count = 2 ** 18;
    for (let n = 0; n < count; n++) recent.remember(one, ...at(`id-${n}`));
    expect(recent.bytes).toBe(72 * 2 ** 19);
    let known = 0;
    for (let n = 0; n < count; n++) if (recent.wasCreatedBy(0, 1, ...at(`id-${n}`))) known++;
    expect(known).toBeGreaterThan(count * 0.99);
  });

  it('creation times stay when persons are dropped', () => {
    const recent = new RecentIds();
    recent.remember(person(1, 'one'), ...at('one'));
    recent.forgetPersons();
    expect(recent.wasCreatedBy(0, 1, ...at('one'))).toBe(true);
    expect(recent.find(1, ...at('one'))).toBeUndefined();
  });

  it('persons are found only by the bytes of their id in their project', () => {
    const recent = new RecentIds();
    const known = new Map<string, Person>();
    for (let n = 0; n < 300_000; n++) {
      const id = `user-${n % 150_000}`;
      const found = recent.find(1, ...at(id));
      const mine = known.get(id) ?? person(1, id);
      known.set(id, mine);
      // The id may have been evicted, but another person must never be returned.
      if (found !== undefined && found !== mine) throw new Error(`expected the person of ${id}`);
      recent.remember(mine, ...at(id));
      if (recent.find(1, ...at(id)) !== mine) throw new Error(`expected ${id} to be remembered`);
    }
    expect(recent.find(2, ...at('user-149999'))).toBeUndefined();
    expect(recent.find(1, ...at('user-14999'))).not.toBe(known.get('user-149999'));
  });

  it('a merged person is replaced by its target', () => {
    const recent = new RecentIds();
    const [one, other] = [person(1, 'one'), person(1, 'other')];
    recent.remember(one, ...at('one'));
    one.mergedInto = other;
    expect(recent.find(1, ...at('one'))).toBe(other);
  });

  it('long ids are not cached, and clearing drops all persons', () => {
    const recent = new RecentIds();
    const long = 'x'.repeat(41);
    recent.remember(person(1, long), ...at(long));
    recent.remember(person(1, 'short'), ...at('short'));
    expect(recent.find(1, ...at(long))).toBeUndefined();
    recent.clear();
    expect(recent.find(1, ...at('short'))).toBeUndefined();
  });
});
