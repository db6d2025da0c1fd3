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

interface Act {
  readonly projectId: number;
  readonly id: string;
  /** An id that becomes the same person. */
  readonly other: string | null;
  readonly micros: number;
}

const anyId = fc.oneof(
  fc.constantFrom('a', 'b', 'c'),
  fc.integer({ min: 0, max: 500 }).map((n) => `user-${n}`),
  // Of every length: their words differ in what they lack alone.
  fc.integer({ min: 1, max: 41 }).map((length) => 'x'.repeat(length)),
);
const anyAct: fc.Arbitrary<Act> = fc.record({
  projectId: fc.constantFrom(1, 2),
  id: anyId,
  other: fc.option(anyId, { freq: 5 }),
  micros: fc.integer({ min: 1, max: 1000 }),
});
const anyWindow = fc.record({
  acts: fc.array(anyAct, { size: 'max', maxLength: 120 }),
  /** What happens to the memory before it. */
  memory: fc.constantFrom('kept', 'kept', 'rotated', 'rotated', 'reset'),
});

/** Whoever is known here is whom the store knows; who is not is remembered. Returns how many answers needed no look at a person. */
function look(store: PersonStore, { projectId, id, micros }: Act): number {
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
  it('an id is known as its person alone, and as created by a time only where the store says so, whatever happens to persons', async () => {
    await using metadata = await tempMetadata();
    const { db } = metadata;
    /** Claims of persons that are in memory, and of such as are not. */
    let known = 0;
    let unloaded = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyWindow, { size: 'max', maxLength: 8 }), async (windows) => {
        await db.deleteFrom('person_distinct_ids').execute();
        await db.deleteFrom('persons').execute();
        let bytesMax = Infinity;
        const store = new PersonStore(db, () => bytesMax);
        for (const [number, { acts, memory }] of windows.entries()) {
          if (memory === 'reset') store.reset();
          bytesMax = memory === 'rotated' ? 1 : Infinity;
          store.begin(number + 1);
          // Before anybody is loaded: what is left of the windows before.
          for (const act of acts) {
            for (const time of [0, act.micros])
              if (store.recent.wasCreatedBy(time, act.projectId, ...at(act.id))) {
                const [row] = await loadPersons(db, act.projectId, [act.id]);
                if (row === undefined || row.created_at_micros > time)
                  throw new Error(`expected no claim of ${act.id}`);
                if (store.find(act.projectId, act.id) === undefined) unloaded += 1;
              }
          }
          for (const { projectId, id, other } of acts)
            for (const each of [id, other ?? id]) store.want(projectId, each);
          await store.load();
          for (const act of acts) {
            known += look(store, act);
            const { projectId, id, other, micros } = act;
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
            for (const each of acts) isKnownCreation(store, each.projectId, each.id, each.micros);
            known += look(store, act);
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

  it('a creation that has fallen is known after the next look, and what is not known is not claimed', () => {
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

  it('memory grows with the ids, to a limit, and clearing gives it back', () => {
    const recent = new RecentIds();
    const small = recent.bytes;
    expect(small).toBeLessThan(20_000);
    const someone = person(1, 'someone');
    const remember = (count: number): number => {
      for (let n = 0; n < count; n++) recent.remember(someone, ...at(`id-${n}`));
      return recent.bytes;
    };
    expect(remember(20_000)).toBeLessThan(5e6);
    expect(remember(800_000)).toBe(72 * 2 ** 19);
    expect(remember(100)).toBe(72 * 2 ** 19);
    expect(recent.find(1, ...at('id-99'))).toBe(someone);
    recent.clear();
    expect(recent.bytes).toBe(small);
    expect(recent.find(1, ...at('id-99'))).toBeUndefined();
  });

  it('whoever asks for the creation of more ids than there is room for gets more of it, and keeps what was known', () => {
    let bytesMax = 72 * 2 ** 20;
    const recent = new RecentIds(() => bytesMax);
    const someone = person(1, 'someone');
    const known = (from: number, to: number): number => {
      let count = 0;
      for (let n = from; n < to; n++) if (recent.wasCreatedBy(0, 1, ...at(`id-${n}`))) count++;
      return count;
    };
    const remember = (from: number, to: number): void => {
      for (let n = from; n < to; n++) recent.remember(someone, ...at(`id-${n}`));
    };
    for (let n = 0; n < 900_000; n += 1000) {
      expect(known(n, n + 1000)).toBe(0);
      remember(n, n + 1000);
    }
    expect(recent.bytes).toBe(bytesMax);
    // Some have lost their slot to others.
    const before = known(0, 900_000);
    expect(before).toBeGreaterThan(600_000);
    bytesMax *= 2;
    known(1_000_000, 1_600_000);
    remember(899_999, 900_000);
    expect(recent.bytes).toBe(bytesMax);
    expect(known(0, 900_000)).toBeGreaterThan(before * 0.999);
    expect(recent.find(1, ...at('id-899999'))).toBe(someone);
  });

  it('hardly an id of those that there is room for is forgotten', () => {
    const recent = new RecentIds();
    const someone = person(1, 'someone');
    const count = 2 ** 18;
    for (let n = 0; n < count; n++) recent.remember(someone, ...at(`id-${n}`));
    expect(recent.bytes).toBe(72 * 2 ** 19);
    let known = 0;
    for (let n = 0; n < count; n++) if (recent.wasCreatedBy(0, 1, ...at(`id-${n}`))) known++;
    expect(known).toBeGreaterThan(count * 0.99);
  });

  it('without the persons, what is known of their creation stays', () => {
    const recent = new RecentIds();
    recent.remember(person(1, 'one'), ...at('one'));
    recent.forgetPersons();
    expect(recent.wasCreatedBy(0, 1, ...at('one'))).toBe(true);
    expect(recent.find(1, ...at('one'))).toBeUndefined();
  });

  it('are found by the bytes of the id in the same project, and nobody else is', () => {
    const recent = new RecentIds();
    const known = new Map<string, Person>();
    for (let n = 0; n < 300_000; n++) {
      const id = `user-${n % 150_000}`;
      const found = recent.find(1, ...at(id));
      const mine = known.get(id) ?? person(1, id);
      known.set(id, mine);
      // Another id may have taken the slot, but never may another person come back.
      if (found !== undefined && found !== mine) throw new Error(`expected the person of ${id}`);
      recent.remember(mine, ...at(id));
      if (recent.find(1, ...at(id)) !== mine) throw new Error(`expected ${id} to be remembered`);
    }
    expect(recent.find(2, ...at('user-149999'))).toBeUndefined();
    expect(recent.find(1, ...at('user-14999'))).not.toBe(known.get('user-149999'));
  });

  it('a person that became part of another stands for that one', () => {
    const recent = new RecentIds();
    const [one, other] = [person(1, 'one'), person(1, 'other')];
    recent.remember(one, ...at('one'));
    one.mergedInto = other;
    expect(recent.find(1, ...at('one'))).toBe(other);
  });

  it('long ids are left to the slower way, and clearing forgets everybody', () => {
    const recent = new RecentIds();
    const long = 'x'.repeat(41);
    recent.remember(person(1, long), ...at(long));
    recent.remember(person(1, 'short'), ...at('short'));
    expect(recent.find(1, ...at(long))).toBeUndefined();
    recent.clear();
    expect(recent.find(1, ...at('short'))).toBeUndefined();
  });
});
