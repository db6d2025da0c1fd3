/** Finds and updates the person of an event that is copied as bytes. */
import { span, spanStride, type ScannedBatch } from '../wire/batch/scanned-batch.ts';
import type { PropertyOp } from './persons/pending-changes.ts';
import type { Person } from './persons/person.ts';
import type { PersonStore } from './persons/person-store.ts';
import type { OpenRecord } from './open-record.ts';

const openObject = 0x7b;
const openArray = 0x5b;

/** Returns whether the properties change a person; a `$set` that is not an object does not. */
export function changesPerson({ json, spans }: ScannedBatch, index: number): boolean {
  const base = index * spanStride;
  const set = spans[base + span.ownSet] as number;
  if (set >= 0 && json[set] === openObject) return true;
  const setOnce = spans[base + span.ownSetOnce] as number;
  if (setOnce >= 0 && json[setOnce] === openObject) return true;
  const unset = spans[base + span.ownUnset] as number;
  return unset >= 0 && (json[unset] === openObject || json[unset] === openArray);
}

/** Returns whether the event's person is known to be at least as old as the event, without reading it. False: use `findPerson`. */
export function hasOlderPerson(persons: PersonStore, { context, scan, splicer }: OpenRecord, index: number): boolean {
  const micros = splicer.micros[index] as number;
  return persons.recent.wasCreatedBy(micros, context.projectId, scan.json, idFrom(scan, index), idTo(scan, index));
}

/** Returns the event's person if it is in memory. */
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

/** Creates the person of an unused id; its next event finds it without creating a string of the id. */
function createPerson(persons: PersonStore, { context, scan, splicer }: OpenRecord, index: number): Person {
  const person = persons.create(context.projectId, splicer.distinctId(index), splicer.micros[index] as number);
  remember(persons, scan, index, person);
  return person;
}

function remember(persons: PersonStore, scan: ScannedBatch, index: number, person: Person): void {
  persons.recent.remember(person, scan.json, idFrom(scan, index), idTo(scan, index));
}

/** Start of the id's bytes, without the quote. */
function idFrom({ spans }: ScannedBatch, index: number): number {
  return (spans[index * spanStride + span.distinctId] as number) + 1;
}

function idTo({ spans }: ScannedBatch, index: number): number {
  return (spans[index * spanStride + span.distinctId + 1] as number) - 1;
}

/** Applies the event to its person, which has been loaded if it exists. */
export function updateSpliced(persons: PersonStore, record: OpenRecord, index: number): void {
  const { scan, splicer } = record;
  const micros = splicer.micros[index] as number;
  const known = findPerson(persons, record, index);
  if (known !== undefined && micros < known.createdAt) persons.lowerCreatedAt(known, micros);
  const person = known ?? createPerson(persons, record, index);
  // The order of applyChanges.
  stage(persons, person, scan, index, 'setOnce', micros);
  stage(persons, person, scan, index, 'set', micros);
  stage(persons, person, scan, index, 'unset', micros);
}

const spanOf = { setOnce: span.ownSetOnce, set: span.ownSet, unset: span.ownUnset } as const;

function stage(
  persons: PersonStore,
  person: Person,
  { json, spans }: ScannedBatch,
  index: number,
  op: PropertyOp,
  micros: number,
): void {
  const cell = index * spanStride + spanOf[op];
  const from = spans[cell] as number;
  if (from < 0) return;
  const isOp = json[from] === openObject || (op === 'unset' && json[from] === openArray);
  if (isOp) persons.stage(person, op, micros, json, from, spans[cell + 1] as number);
}
