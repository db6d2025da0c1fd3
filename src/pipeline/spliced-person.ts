/** What an event that is copied as bytes has to do with its person. */
import { span, spanStride, type ScannedBatch } from '../batch/scanned-batch.ts';
import type { Saying } from '../persons/pending-changes.ts';
import type { Person } from '../persons/person.ts';
import type { PersonStore } from '../persons/person-store.ts';
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
  const cell = index * spanStride + span.distinctId;
  const from = (scan.spans[cell] as number) + 1;
  const to = (scan.spans[cell + 1] as number) - 1;
  return persons.recent.wasCreatedBy(splicer.micros[index] as number, context.projectId, scan.json, from, to);
}

/** The event's person, if it is in memory. */
export function findPerson(
  persons: PersonStore,
  { context, scan, splicer }: OpenRecord,
  index: number,
): Person | undefined {
  const cell = index * spanStride + span.distinctId;
  const from = (scan.spans[cell] as number) + 1;
  const to = (scan.spans[cell + 1] as number) - 1;
  const recent = persons.recent.find(context.projectId, scan.json, from, to);
  if (recent !== undefined) return recent;
  const person = persons.find(context.projectId, splicer.distinctId(index));
  if (person !== undefined) persons.recent.remember(person, scan.json, from, to);
  return person;
}

/** Does to its person what the event says. The person was loaded if there is one. */
export function updateSpliced(persons: PersonStore, record: OpenRecord, index: number): void {
  const { context, scan, splicer } = record;
  const micros = splicer.micros[index] as number;
  const known = findPerson(persons, record, index);
  if (known !== undefined && micros < known.createdAt) persons.lowerCreatedAt(known, micros);
  const person = known ?? persons.create(context.projectId, splicer.distinctId(index), micros);
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
