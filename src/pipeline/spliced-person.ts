/** What an event that is copied as bytes has to do with its person. */
import { span, spanStride, type ScannedBatch } from '../wire/batch/scanned-batch.ts';
import type { Saying } from './persons/pending-changes.ts';
import type { Person } from './persons/person.ts';
import type { PersonStore } from './persons/person-store.ts';
import type { OpenRecord } from './open-record.ts';

const openObject = 0x7b;
const openArray = 0x5b;

/** Whether the properties say something of a person; a `$set` that is no object says nothing. */
export function saysOfPerson({ json, spans }: ScannedBatch, index: number): boolean {
  const base = index * spanStride;
  const set = spans[base + span.ownSet] as number;
  if (set >= 0 && json[set] === openObject) return true;
  const setOnce = spans[base + span.ownSetOnce] as number;
  if (setOnce >= 0 && json[setOnce] === openObject) return true;
  const unset = spans[base + span.ownUnset] as number;
  return unset >= 0 && (json[unset] === openObject || json[unset] === openArray);
}

/** Whether the event's person is known to be no younger than the event, told without a look at it. False: ask `findPerson`. */
export function hasOlderPerson(persons: PersonStore, { context, scan, splicer }: OpenRecord, index: number): boolean {
  const micros = splicer.micros[index] as number;
  return persons.recent.wasCreatedBy(micros, context.projectId, scan.json, idFrom(scan, index), idTo(scan, index));
}

/** The event's person, if it is in memory. */
export function findPerson(
  persons: PersonStore,
  { context, scan, splicer }: OpenRecord,
  index: number,
): Person | undefined {
  const recent = persons.recent.find(context.projectId, scan.json, idFrom(scan, index), idTo(scan, index));
  if (recent !== undefined) return recent;
  const person = persons.find(context.projectId, splicer.distinctId(index));
  if (person !== undefined) remember(persons, scan, index, person);
  return person;
}

/** The person of an id that nobody has; its next event finds it without a string of the id. */
function createPerson(persons: PersonStore, { context, scan, splicer }: OpenRecord, index: number): Person {
  const person = persons.create(context.projectId, splicer.distinctId(index), splicer.micros[index] as number);
  remember(persons, scan, index, person);
  return person;
}

function remember(persons: PersonStore, scan: ScannedBatch, index: number, person: Person): void {
  persons.recent.remember(person, scan.json, idFrom(scan, index), idTo(scan, index));
}

/** The bytes of the id, without its quotes. */
function idFrom({ spans }: ScannedBatch, index: number): number {
  return (spans[index * spanStride + span.distinctId] as number) + 1;
}

function idTo({ spans }: ScannedBatch, index: number): number {
  return (spans[index * spanStride + span.distinctId + 1] as number) - 1;
}

/** Does to its person what the event says. The person was loaded if there is one. */
export function updateSpliced(persons: PersonStore, record: OpenRecord, index: number): void {
  const { scan, splicer } = record;
  const micros = splicer.micros[index] as number;
  const known = findPerson(persons, record, index);
  if (known !== undefined && micros < known.createdAt) persons.lowerCreatedAt(known, micros);
  const person = known ?? createPerson(persons, record, index);
  // The order of applyChanges.
  learn(persons, person, scan, index, 'setOnce', micros);
  learn(persons, person, scan, index, 'set', micros);
  learn(persons, person, scan, index, 'unset', micros);
}

const spanOf = { setOnce: span.ownSetOnce, set: span.ownSet, unset: span.ownUnset } as const;

function learn(
  persons: PersonStore,
  person: Person,
  { json, spans }: ScannedBatch,
  index: number,
  saying: Saying,
  micros: number,
): void {
  const cell = index * spanStride + spanOf[saying];
  const from = spans[cell] as number;
  if (from < 0) return;
  const isSaid = json[from] === openObject || (saying === 'unset' && json[from] === openArray);
  if (isSaid) persons.learn(person, saying, micros, json, from, spans[cell + 1] as number);
}
