import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import type { PersonStep, PlainDerived, PlainIdPart, PlainUuid } from './plain-table.ts';
import { normalisedTexts } from '../../../formats/normalise-properties.ts';
import { utc, type Zone } from '../../../formats/times.ts';
import {
  derivedAnswer,
  identityAnswer,
  nameAnswer,
  settledAnswer,
  textAnswer,
  trimmedAnswer,
  type AnswerDeps,
} from './answers.ts';
import {
  checkedProperties,
  countryCode,
  countryName,
  isListed,
  urlProperties,
  type CompiledList,
} from './compiled-table.ts';
import type { PlainMachine, Variable } from './machine.ts';
import type { MemoryRoom } from './memory-room.ts';
import { createMemos, type Memos } from './memos.ts';
import { nameNumbersMax } from './name-numbers.ts';
import { membersAsked, wordBytes, placeOf, type Writing } from './writing.ts';
import { isUnusualKey, unusualKey, type KeyMeaning, type MeaningOf } from './key-meaning.ts';

/** The table of a format in the machine's memory, as assembly/convert.ts and what it imports describe it. */
export interface TableMemory {
  readonly keys: Pick<KeyMemory, 'meaningOfKey' | 'unusualEntry' | 'heard'>;
  readonly memos: Pick<Memos, 'answerTo'>;
  /** By the number that the machine means them by. */
  readonly zones: readonly Zone[];
  /** Everything that was made of records. */
  forget(): void;
}

const itemsMax = 1024;
const identityMemos = 1 << 15;
const variedMemos = 8192;
const fewMemos = 256;
/** As in assembly/convert/properties.ts. */
const stepKinds = { list: 0, derived: 1, ids: 2, person: 3, $set: 4 } as const;

export function writeTable(machine: PlainMachine, room: MemoryRoom, answers: AnswerDeps): TableMemory {
  const { table, compiled } = answers;
  const members = room.takeZeros(compiled.members * 2 * wordBytes);
  const properties = room.takeZeros(compiled.properties * 2 * wordBytes);
  const memos = createMemos(machine, room, { members, properties });
  const writing = { machine, room, table, compiled, answers, memos };
  machine.set({ members, memberCount: compiled.members, properties, propertyCount: compiled.properties });
  const keys = writeKeys(writing);
  writeLists(writing);
  writeSteps(writing);
  writeChecks(writing);
  writeUuid(writing, table.uuid);
  const zones = writeTime(writing);
  machine.set({
    names: memos.add(fewMemos, membersAsked(compiled, table.event), nameAnswer(answers)),
    identities: memos.add(identityMemos, membersAsked(compiled, table.ids.paths), identityAnswer(answers)),
  });
  return {
    keys,
    memos,
    zones,
    forget: () => {
      memos.forget();
      keys.forget();
      answers.room.clear();
      answers.names.length = 0;
      answers.identities.length = 0;
    },
  };
}

function writeLists(writing: Writing): void {
  const { machine, room, compiled } = writing;
  const words = compiled.lists.flatMap((list) => listWords(writing, list));
  machine.set({
    lists: room.putWords(words),
    listCount: compiled.lists.length,
    namesHad: room.takeZeros(nameNumbersMax * wordBytes),
    namePlaces: room.take(nameNumbersMax * wordBytes),
  });
}

/** As `List` in assembly/convert/items.ts. */
function listWords(writing: Writing, { wins, areTexts, areNeeded, only, fields = [] }: CompiledList): number[] {
  const { room } = writing;
  const columns = Array.from({ length: 5 }, () => room.take(itemsMax * wordBytes));
  const { from, bytes } = room.putBytes(only?.is ?? Buffer.alloc(0));
  const entries = fields.map((meaning) => putEntry(writing, room, meaning, Buffer.alloc(0)));
  const spans = room.takeZeros(fields.length * 2 * wordBytes);
  return [
    0,
    ...columns,
    Number(wins),
    Number(areTexts),
    Number(areNeeded),
    only?.member ?? -1,
    from,
    bytes,
    room.putWords(entries),
    fields.length,
    spans,
  ];
}

function writeSteps(writing: Writing): void {
  const { machine, room, table } = writing;
  let lists = 0;
  const words = table.properties.flatMap((step) => {
    if (typeof step === 'string') return stepWords(stepKinds[step]);
    if (isListed(step)) return stepWords(stepKinds.list, lists++);
    return stepWords(stepKinds.derived, -1, derivedMemo(writing, step));
  });
  const source = table.source === undefined ? '' : `"$import_source":${JSON.stringify(table.source)},`;
  const { from, bytes } = room.putText(source);
  machine.set({
    steps: room.putWords(words),
    stepCount: table.properties.length,
    source: from,
    sourceBytes: bytes,
    groups: room.putWords(groupWords(writing)),
    addsPerson: Number(table.properties.includes('person')),
  });
}

/** As `Step` in assembly/convert/properties.ts. */
function stepWords(kind: number, list = -1, memo = 0): number[] {
  return [kind, list, memo, 0];
}

function derivedMemo(
  { compiled, memos, answers }: Writing,
  step: PlainDerived & Partial<Pick<PersonStep, 'into'>>,
): number {
  const numbers = step.from.map(step.of === 'members' ? compiled.memberOf : compiled.propertyOf);
  const make = derivedAnswer(answers, step, step.into ?? 'properties');
  return memos.add(step.isVaried === true ? variedMemos : fewMemos, { of: step.of, numbers }, make);
}

/** As `Group` there: `$set`, then `$set_once`. */
function groupWords(writing: Writing): number[] {
  const { room, table, compiled } = writing;
  const { person = [] } = table;
  let list = compiled.lists.length - person.filter(isListed).length;
  const parts = person.map((step) => ({
    into: step.into,
    words: isListed(step)
      ? stepWords(stepKinds.list, list++)
      : stepWords(stepKinds.derived, -1, derivedMemo(writing, step)),
  }));
  return (['$set', '$set_once'] as const).flatMap((target) => {
    const key = room.putText(`"${target}":{`);
    const own = parts.filter(({ into }) => into === target);
    const standard = (target === '$set' ? currentProperties : initialProperties).flatMap((name) => {
      const key = room.putText(`${JSON.stringify(name)}:`);
      return [compiled.propertyOf(name), compiled.names.numberOf(target, name), key.from, key.bytes];
    });
    const ofParts = room.putWords(own.flatMap(({ words }) => words));
    return [key.from, key.bytes, ofParts, own.length, room.putWords(standard), standard.length / 4, 0, 0, 0];
  });
}

function writeChecks(writing: Writing): void {
  const { machine, room, compiled, memos, answers } = writing;
  const { propertyOf } = compiled;
  const texts = [...normalisedTexts].flatMap(([name, settled]) => {
    const property = propertyOf(name);
    const asking = { of: 'properties', numbers: [property] } as const;
    return [property, memos.add(fewMemos, asking, settledAnswer(answers, settled))];
  });
  const groups = propertyOf(checkedProperties.groups);
  machine.set({
    settled: room.putWords(texts),
    settledCount: texts.length / 2,
    isSettled: Number(compiled.isSettled),
    settledPieces: room.takeZeros(compiled.properties * wordBytes),
    values: room.takeZeros(compiled.properties * 2 * wordBytes),
    urlProperty: propertyOf(urlProperties.url),
    hostProperty: propertyOf(urlProperties.host),
    pathProperty: propertyOf(urlProperties.path),
    countryProperty: propertyOf(countryName),
    codeProperty: propertyOf(countryCode),
    noGeoipProperty: propertyOf(checkedProperties.noGeoip),
    groupsProperty: groups,
    profileProperty: propertyOf(checkedProperties.profile),
    trimmedGroups: memos.add(fewMemos, { of: 'properties', numbers: [groups] }, trimmedAnswer),
  });
}

/** Gives the zones that are meant by number: 0 is UTC. */
function writeTime({ machine, compiled, memos, answers, table: { time } }: Writing): readonly Zone[] {
  const zones = [utc];
  if ('read' in time) {
    const timeMemo = memos.add(fewMemos, membersAsked(compiled, time.from), textAnswer(answers, time.read));
    machine.set({ timeMemo });
    return zones;
  }
  const numberOf = (zone: Zone): number => {
    if (!zones.includes(zone)) zones.push(zone);
    return zones.indexOf(zone);
  };
  const units = { s: 1, ms: 2, us: 3 } as const;
  machine.set({
    timeMemo: 0,
    timeMember: compiled.memberOf(time.path),
    textZone: numberOf(time.zone),
    numberZone: time.numbers === undefined ? -1 : numberOf(time.numbers),
    timeUnit: time.unit === undefined ? 0 : units[time.unit],
    areDigits: Number(time.areDigits === true),
    isKept: Number(time.isKept === true),
  });
  return zones;
}

/** As in assembly/convert/uuids.ts. */
const uuidKinds = { uuid: 0, name: 1, content: 2, parts: 3, nameOrContent: 4 } as const;
const partMemos = 1024;

/** What the UUIDs of records are made of, in the machine's memory. */
function writeUuid(writing: Writing, uuid: PlainUuid): void {
  const { machine, compiled } = writing;
  if (uuid.is === 'content') return machine.set({ uuidKind: uuidKinds.content, ...contentSpace(writing, uuid) });
  if (uuid.is === 'parts') return writeParts(writing, uuid);
  const uuidMember = compiled.memberOf(uuid.path);
  if (uuid.is === 'uuid') return machine.set({ uuidKind: uuidKinds.uuid, uuidMember });
  const { namespace, occurrences, otherwise } = uuid;
  machine.set({
    uuidKind: otherwise === undefined ? uuidKinds.name : uuidKinds.nameOrContent,
    uuidMember,
    ...nameSpace(writing, namespace),
    ...(otherwise && contentSpace(writing, otherwise)),
    countsNames: Number(occurrences !== undefined),
  });
}

type Variables = Partial<Record<Variable, number>>;

function nameSpace({ room }: Writing, namespace: Uint8Array): Variables {
  const { from, bytes } = room.putBytes(namespace);
  return { nameSpace: from, nameSpaceBytes: bytes };
}

function contentSpace({ room }: Writing, { namespace }: { readonly namespace: Uint8Array }): Variables {
  const { from, bytes } = room.putBytes(namespace);
  return { contentSpace: from, contentSpaceBytes: bytes };
}

function writeParts(writing: Writing, { namespace, parts, mayBeUuid = 0 }: Extract<PlainUuid, { is: 'parts' }>): void {
  const { machine, room } = writing;
  machine.set({
    uuidKind: uuidKinds.parts,
    uuidPartCount: parts.length,
    uuidPartsGiven: mayBeUuid,
    ...nameSpace(writing, namespace),
    uuidParts: room.putWords(parts.flatMap((part) => partWords(writing, part))),
  });
}

/** As `Part` in assembly/convert/uuids.ts. */
function partWords({ room, compiled, memos, answers }: Writing, part: PlainIdPart): number[] {
  if (part === 'time') return [0, 0, 0];
  if ('text' in part) return [1, ...placeOf(room.putText(part.text))];
  if ('path' in part) return [2, compiled.memberOf(part.path), Number(part.isNeeded === true)];
  return [3, memos.add(partMemos, membersAsked(compiled, part.from), textAnswer(answers, part.make)), 0];
}

/** What keys mean, in the machine's memory, as assembly/convert/entries.ts describes it. */
interface KeyMemory {
  /** Place of what a key means in the object or list of pairs with this number. */
  meaningOfKey(table: number, key: Buffer): number;
  /** Place of an entry that makes its record odd. */
  readonly unusualEntry: number;
  /** Place of the numbers of names that somebody wants to hear. */
  readonly heard: number;
  /** All keys that were met. */
  forget(): void;
}

const slots = 4096;
const pairKinds = ['string_value', 'int_value', 'double_value', 'float_value', 'set_timestamp_micros'];
/** Words of `KeyTable`. */
const keyTableWords = { slots: 0, entries: 1, start: 2 } as const;
const keyTableBytes = 32;

function writeKeys(writing: Writing): KeyMemory {
  const { machine, room, compiled, answers } = writing;
  const pairs = compiled.pairs.map((each) => ({ mayBeText: false, mayBeEmpty: false, ...each }));
  const all = [...compiled.objects, ...pairs];
  const starts = all.map(() => putEntry(writing, room, unusualKey, Buffer.alloc(0)));
  const slotsOf = all.map(() => room.takeZeros(slots * wordBytes));
  const first = room.putWords(
    all.flatMap(({ mayBeText, mayBeEmpty, isNeeded }, number) => {
      const places = [slotsOf[number] ?? 0, 0, starts[number] ?? 0, number];
      return [...places, Number(mayBeText), Number(mayBeEmpty), Number(isNeeded), 0];
    }),
  );
  const kinds = room.putWords(
    pairKinds.flatMap((kind) => {
      const { from, bytes } = room.putText(`"${kind}":`);
      return [from, bytes];
    }),
  );
  const heard = room.take(nameNumbersMax * 2 * wordBytes);
  machine.set({
    objects: first,
    objectCount: compiled.objects.length,
    pairLists: first + compiled.objects.length * keyTableBytes,
    pairListCount: pairs.length,
    pairKinds: kinds,
    keysHad: room.takeZeros(nameNumbersMax * wordBytes),
    heard,
  });
  return {
    heard,
    unusualEntry: putEntry(writing, room, unusualKey, Buffer.alloc(0)),
    meaningOfKey: (number, key) => {
      const { meaningOf } = all[number] as { readonly meaningOf: MeaningOf };
      const name = key.toString('utf8', 1, key.length - 1);
      return putEntry(writing, answers.room, isUnusualKey(name) ? unusualKey : meaningOf(name), key);
    },
    forget: () => {
      for (const [number, place] of slotsOf.entries()) {
        machine.bytes.fill(0, place, place + slots * wordBytes);
        machine.words[(first + number * keyTableBytes) / wordBytes + keyTableWords.entries] = 0;
        machine.words[(starts[number] ?? 0) / wordBytes + entryWords.next] = 0;
      }
    },
  };
}

const entryWords = { next: 21 } as const;

/** As `Entry` in assembly/convert/entries.ts. */
function putEntry({ machine, answers }: Writing, room: MemoryRoom, meaning: KeyMeaning, key: Buffer): number {
  const output = room.putBytes(meaning.output);
  const nothing = room.putWords(meaning.nothing.flatMap((value) => placeOf(room.putBytes(value))));
  const fields = room.putWords(meaning.fields.flatMap(({ list, index }) => [list, index]));
  const group = meaning.group === undefined ? 0 : meaning.group === '$set' ? 1 : 2;
  const heard = meaning.heard === undefined ? -1 : answers.heardNumber(meaning.heard);
  const words = [
    key.length,
    Number(meaning.isUnusual),
    meaning.object,
    meaning.pairs,
    Number(meaning.isNoObject),
    meaning.member,
    meaning.list,
    meaning.property,
    Number(meaning.isKept),
    meaning.ownKey,
    meaning.ownName,
    meaning.name,
    group,
    Number(meaning.isOfPerson),
    heard,
    output.from,
    output.bytes,
    nothing,
    meaning.nothing.length,
    fields,
    meaning.fields.length,
    0,
  ];
  const entry = room.putWords(words, key.length);
  machine.bytes.set(key, entry + words.length * wordBytes);
  return entry;
}
