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

/** Reads now, works, and writes when it is told to: as a slot beside others does. */
async function slot(db: Metadata, work: Work): Promise<() => Promise<void>> {
  const persons = new PersonStore(db);
  persons.begin(1);
  for (const id of ['a', 'b', 'c', 'x']) persons.want(projectId, id);
  await persons.load();
  work(persons);
  const changes = persons.takeSharedChanges();
  return () => db.transaction().execute((tx) => writeSharedPersons(tx, changes));
}

describe('persons that several slots change at once', () => {
  let store: Awaited<ReturnType<typeof tempMetadata>>;
  beforeEach(async () => {
    store = await tempMetadata();
    for (const work of [set('a', 1), set('b', 1), touch('c')]) await (await slot(store.db, work))();
  });
  afterEach(() => store[Symbol.asyncDispose]());

  it.each<[string, Work, Work]>([
    ['a property of one person', set('a', 2), set('a', 3)],
    ['a person that is joined to another meanwhile', merge('b', 'a'), set('a', 3)],
    ['a person that would not change, but for the one that it is joined to', merge('b', 'a'), set('a', 3, 1)],
    ['two joins of one person', merge('b', 'a'), merge('c', 'a')],
    ['an id that becomes somebody else\u2019s first', merge('a', 'x'), touch('x')],
    ['a new person, made twice', touch('x'), set('x', 1)],
  ])('the second one is refused, and leaves no trace: %s', async (_, first, second) => {
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
    ['of somebody who is only seen again', merge('b', 'a'), touch('a')],
  ])('changes %s do not disturb each other', async (_, first, second) => {
    const [one, other] = [await slot(store.db, first), await slot(store.db, second)];
    await one();
    await expect(other()).resolves.toBeUndefined();
  });
});
