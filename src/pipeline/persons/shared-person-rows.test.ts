import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { mergePersons } from './merge-persons.ts';
import { PersonStore } from './person-store.ts';
import { ProfileConflictError } from './profile-conflict.ts';
import { noChanges } from './registers.ts';
import { writeSharedPersons } from './shared-person-rows.ts';

const projectId = 1;
type Work = (persons: PersonStore) => void;

const set =
  (id: string, value: number, micros = 10): Work =>
  (persons) => {
    persons.consult(projectId, id);
    persons.update(persons.touch(projectId, id, micros), { ...noChanges, set: { k: value } }, micros);
  };
const merge =
  (targetId: string, otherId: string): Work =>
  (persons) => {
    persons.consult(projectId, targetId);
    persons.consult(projectId, otherId);
    mergePersons(persons, { projectId, targetId, otherId, rule: 'unless_identified', eventUuid: 'e', micros: 10 });
  };
const touch =
  (id: string): Work =>
  (persons) =>
    void persons.touch(projectId, id, 10);

/** Loads and changes persons now, and returns a function that writes them, like one of several slots. */
async function slot(db: Metadata, work: Work): Promise<() => Promise<void>> {
  const persons = new PersonStore(db);
  persons.begin(1);
  for (const id of ['a', 'b', 'c', 'x']) persons.want(projectId, id);
  await persons.load();
  work(persons);
  const changes = persons.takeSharedChanges();
  return () => db.transaction().execute((tx) => writeSharedPersons(tx, changes));
}

describe('persons changed by several slots at the same time', () => {
  let store: Awaited<ReturnType<typeof tempMetadata>>;
  beforeEach(async () => {
    store = await tempMetadata();
    for (const work of [set('a', 1), set('b', 1), touch('c')]) await (await slot(store.db, work))();
  });
  afterEach(() => store[Symbol.asyncDispose]());

  it.each<[string, Work, Work]>([
    ['a property of one person', set('a', 2), set('a', 3)],
    ['a person that is merged in the meantime', merge('b', 'a'), set('a', 3)],
    ['a person that changes only through the one that it is merged into', merge('b', 'a'), set('a', 3, 1)],
    ['two merges of one person', merge('b', 'a'), merge('c', 'a')],
    ['an id that another person gets first', merge('a', 'x'), touch('x')],
    ['a new person, created twice', touch('x'), set('x', 1)],
  ])('the second write is refused and leaves no trace: %s', async (_, first, second) => {
    const [one, other] = [await slot(store.db, first), await slot(store.db, second)];
    await one();
    const before = await store.db.selectFrom('persons').selectAll().orderBy('uuid').execute();
    await expect(other()).rejects.toBeInstanceOf(ProfileConflictError);
    expect(await store.db.selectFrom('persons').selectAll().orderBy('uuid').execute()).toEqual(before);
    await (
      await slot(store.db, second)
    )();
  });

  it.each<[string, Work, Work]>([
    ['of different persons', set('a', 2), set('b', 3)],
    ['of a person that only has another event', merge('b', 'a'), touch('a')],
  ])('changes %s do not conflict', async (_, first, second) => {
    const [one, other] = [await slot(store.db, first), await slot(store.db, second)];
    await one();
    await expect(other()).resolves.toBeUndefined();
  });
});
