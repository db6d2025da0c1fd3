import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import type { PersonStep, PlainDerived, PlainIdPart, PlainTable, PlainUuid } from './plain-table.ts';
import { normalisedTexts } from '../../../formats/normalise-properties.ts';
import { utc, type Zone } from '../../../formats/times.ts';
import {
  derivedAnswer,
  identityAnswer,
  nameAnswer,
  normalisedAnswer,
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
  type CompiledTable,
} from './compiled-table.ts';
import type { ConvertModule, Variable } from './convert-module.ts';
import { pieceWords, wordBytes, type Arena } from './arena.ts';
import { createMemos, type MemoInputs, type Memos } from './memos.ts';
import { isUnusualKey, nameNumbersMax, unusualKey, type KeyMeaning, type MeaningOf } from './key-meaning.ts';

/** The table of a format in the memory of the module, in the layout of assembly/convert.ts and its imports. */
export interface TableMemory {
  readonly keys: Pick<KeyMemory, 'meaningOfKey' | 'unusualEntry'>;
  readonly memos: Pick<Memos, 'answerTo'>;
  /** Zones by their number in the module. */
  readonly zones: readonly Zone[];
  /** Drops everything that was derived from records. */
  clear(): void;
}

interface Layout {
  readonly module: ConvertModule;
  /** For data that lives as long as the table. */
  readonly arena: Arena;
  readonly table: PlainTable;
  readonly compiled: CompiledTable;
  readonly answers: AnswerDeps;
  readonly memos: Memos;
}

function inputsOf({ memberOf }: CompiledTable, paths: readonly string[]): MemoInputs {
  return { of: 'members', numbers: paths.map(memberOf) };
}

const itemsMax = 1024;
const identityMemos = 1 << 15;
const variedMemos = 8192;
const fewMemos = 256;
/** Kinds of `Step` in assembly/convert/properties.ts. */
const stepKinds = { list: 0, derived: 1, ids: 2, person: 3, $set: 4 } as const;

export function writeTable(module: ConvertModule, arena: Arena, answers: AnswerDeps): TableMemory {
  const { table, compiled } = answers;
  const members = arena.allocateZeros(compiled.members * 2 * wordBytes);
  const properties = arena.allocateZeros(compiled.properties * 2 * wordBytes);
  const memos = createMemos(module, arena, { members, properties });
  const layout = { module, arena, table, compiled, answers, memos };
  module.set({ members, memberCount: compiled.members, properties, propertyCount: compiled.properties });
  const keys = writeKeys(layout);
  writeLists(layout);
  writeSteps(layout);
  writeChecks(layout);
  writeUuid(layout, table.uuid);
  const zones = writeTime(layout);
  module.set({
    names: memos.add(fewMemos, inputsOf(compiled, table.event), nameAnswer(answers)),
    identities: memos.add(identityMemos, inputsOf(compiled, table.ids.paths), identityAnswer(answers)),
  });
  return {
    keys,
    memos,
    zones,
    clear: () => {
      memos.clear();
      keys.clear();
      answers.arena.clear();
      answers.names.length = 0;
      answers.identities.length = 0;
    },
  };
}

function writeLists(layout: Layout): void {
  const { module, arena, compiled } = layout;
  const words = compiled.lists.flatMap((list) => listWords(layout, list));
  module.set({
    lists: arena.putWords(words),
    listCount: compiled.lists.length,
    namesSeen: arena.allocateZeros(nameNumbersMax * wordBytes),
    namePlaces: arena.allocate(nameNumbersMax * wordBytes),
  });
}

/** Returns a `List` of assembly/convert/items.ts. */
function listWords(layout: Layout, { wins, areTexts, areNeeded, only, fields = [] }: CompiledList): number[] {
  const { arena } = layout;
  const columns = Array.from({ length: 5 }, () => arena.allocate(itemsMax * wordBytes));
  const { from, bytes } = arena.putBytes(only?.is ?? Buffer.alloc(0));
  const entries = fields.map((meaning) => putEntry(layout, arena, meaning, Buffer.alloc(0)));
  const spans = arena.allocateZeros(fields.length * 2 * wordBytes);
  return [
    0,
    ...columns,
    Number(wins),
    Number(areTexts),
    Number(areNeeded),
    only?.member ?? -1,
    from,
    bytes,
    arena.putWords(entries),
    fields.length,
    spans,
  ];
}

function writeSteps(layout: Layout): void {
  const { module, arena, table } = layout;
  let lists = 0;
  const words = table.properties.flatMap((step) => {
    if (typeof step === 'string') return stepWords(stepKinds[step]);
    if (isListed(step)) return stepWords(stepKinds.list, lists++);
    return stepWords(stepKinds.derived, -1, derivedMemo(layout, step));
  });
  const source = table.source === undefined ? '' : `"$import_source":${JSON.stringify(table.source)},`;
  const { from, bytes } = arena.putText(source);
  module.set({
    steps: arena.putWords(words),
    stepCount: table.properties.length,
    source: from,
    sourceBytes: bytes,
    groups: arena.putWords(groupWords(layout)),
    addsPerson: Number(table.properties.includes('person')),
  });
}

/** Returns a `Step` of assembly/convert/properties.ts. */
function stepWords(kind: number, list = -1, memo = 0): number[] {
  return [kind, list, memo, 0];
}

function derivedMemo(
  { compiled, memos, answers }: Layout,
  step: PlainDerived & Partial<Pick<PersonStep, 'into'>>,
): number {
  const numbers = step.from.map(step.of === 'members' ? compiled.memberOf : compiled.propertyOf);
  const make = derivedAnswer(answers, step, step.into ?? 'properties');
  return memos.add(step.isVaried === true ? variedMemos : fewMemos, { of: step.of, numbers }, make);
}

/** Returns two `Group`s: `$set`, then `$set_once`. */
function groupWords(layout: Layout): number[] {
  const { arena, table, compiled } = layout;
  const { person = [] } = table;
  let list = compiled.lists.length - person.filter(isListed).length;
  const parts = person.map((step) => ({
    into: step.into,
    words: isListed(step)
      ? stepWords(stepKinds.list, list++)
      : stepWords(stepKinds.derived, -1, derivedMemo(layout, step)),
  }));
  return (['$set', '$set_once'] as const).flatMap((target) => {
    const key = arena.putText(`"${target}":{`);
    const own = parts.filter(({ into }) => into === target);
    const standard = (target === '$set' ? currentProperties : initialProperties).flatMap((name) => {
      const key = arena.putText(`${JSON.stringify(name)}:`);
      return [compiled.propertyOf(name), compiled.names.numberOf(target, name), key.from, key.bytes];
    });
    const ofParts = arena.putWords(own.flatMap(({ words }) => words));
    return [key.from, key.bytes, ofParts, own.length, arena.putWords(standard), standard.length / 4, 0, 0, 0];
  });
}

function writeChecks(layout: Layout): void {
  const { module, arena, compiled, memos, answers } = layout;
  const { propertyOf } = compiled;
  const texts = [...normalisedTexts].flatMap(([name, normalise]) => {
    const property = propertyOf(name);
    const inputs = { of: 'properties', numbers: [property] } as const;
    return [property, memos.add(fewMemos, inputs, normalisedAnswer(answers, normalise))];
  });
  const groups = propertyOf(checkedProperties.groups);
  module.set({
    normalisedTexts: arena.putWords(texts),
    normalisedCount: texts.length / 2,
    isNormalised: Number(compiled.isNormalised),
    normalisedPieces: arena.allocateZeros(compiled.properties * wordBytes),
    values: arena.allocateZeros(compiled.properties * 2 * wordBytes),
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

/** Returns the zones by number; 0 is UTC. */
function writeTime({ module, compiled, memos, answers, table: { time } }: Layout): readonly Zone[] {
  const zones = [utc];
  if ('read' in time) {
    const timeMemo = memos.add(fewMemos, inputsOf(compiled, time.from), textAnswer(answers, time.read));
    module.set({ timeMemo });
    return zones;
  }
  const numberOf = (zone: Zone): number => {
    if (!zones.includes(zone)) zones.push(zone);
    return zones.indexOf(zone);
  };
  const units = { s: 1, ms: 2, us: 3 } as const;
  module.set({
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

/** Kinds of UUIDs in assembly/convert/uuids.ts. */
const uuidKinds = { uuid: 0, name: 1, content: 2, parts: 3, nameOrContent: 4 } as const;
const partMemos = 1024;

function writeUuid(layout: Layout, uuid: PlainUuid): void {
  const { module, compiled } = layout;
  if (uuid.is === 'content') return module.set({ uuidKind: uuidKinds.content, ...contentSpace(layout, uuid) });
  if (uuid.is === 'parts') return writeParts(layout, uuid);
  const uuidMember = compiled.memberOf(uuid.path);
  if (uuid.is === 'uuid') return module.set({ uuidKind: uuidKinds.uuid, uuidMember });
  const { namespace, occurrences, otherwise } = uuid;
  module.set({
    uuidKind: otherwise === undefined ? uuidKinds.name : uuidKinds.nameOrContent,
    uuidMember,
    ...nameSpace(layout, namespace),
    ...(otherwise && contentSpace(layout, otherwise)),
    countsNames: Number(occurrences !== undefined),
  });
}

type Variables = Partial<Record<Variable, number>>;

function nameSpace({ arena }: Layout, namespace: Uint8Array): Variables {
  const { from, bytes } = arena.putBytes(namespace);
  return { nameSpace: from, nameSpaceBytes: bytes };
}

function contentSpace({ arena }: Layout, { namespace }: { readonly namespace: Uint8Array }): Variables {
  const { from, bytes } = arena.putBytes(namespace);
  return { contentSpace: from, contentSpaceBytes: bytes };
}

function writeParts(layout: Layout, { namespace, parts, mayBeUuid = 0 }: Extract<PlainUuid, { is: 'parts' }>): void {
  const { module, arena } = layout;
  module.set({
    uuidKind: uuidKinds.parts,
    uuidPartCount: parts.length,
    uuidPartsGiven: mayBeUuid,
    ...nameSpace(layout, namespace),
    uuidParts: arena.putWords(parts.flatMap((part) => partWords(layout, part))),
  });
}

/** Returns a `Part` of assembly/convert/uuids.ts. */
function partWords({ arena, compiled, memos, answers }: Layout, part: PlainIdPart): number[] {
  if (part === 'time') return [0, 0, 0];
  if ('text' in part) return [1, ...pieceWords(arena.putText(part.text))];
  if ('path' in part) return [2, compiled.memberOf(part.path), Number(part.isNeeded === true)];
  return [3, memos.add(partMemos, inputsOf(compiled, part.from), textAnswer(answers, part.make)), 0];
}

/** The meanings of keys in the memory of the module, in the layout of assembly/convert/entries.ts. */
interface KeyMemory {
  /** Returns the address of the meaning of a key in the object or list of pairs with this number. */
  meaningOfKey(table: number, key: Buffer): number;
  /** Address of an entry that makes its record unusual. */
  readonly unusualEntry: number;
  /** Drops all keys of records. */
  clear(): void;
}

const slots = 4096;
const pairKinds = ['string_value', 'int_value', 'double_value', 'float_value', 'set_timestamp_micros'];
/** Words of `KeyTable` there. */
const keyTableWords = { slots: 0, entries: 1, start: 2 } as const;
const keyTableBytes = 32;

function writeKeys(layout: Layout): KeyMemory {
  const { module, arena, compiled, answers } = layout;
  const pairs = compiled.pairs.map((each) => ({ mayBeText: false, mayBeEmpty: false, ...each }));
  const all = [...compiled.objects, ...pairs];
  const starts = all.map(() => putEntry(layout, arena, unusualKey, Buffer.alloc(0)));
  const slotsOf = all.map(() => arena.allocateZeros(slots * wordBytes));
  const first = arena.putWords(
    all.flatMap(({ mayBeText, mayBeEmpty, isNeeded }, number) => {
      const places = [slotsOf[number] ?? 0, 0, starts[number] ?? 0, number];
      return [...places, Number(mayBeText), Number(mayBeEmpty), Number(isNeeded), 0];
    }),
  );
  const kinds = arena.putWords(
    pairKinds.flatMap((kind) => {
      const { from, bytes } = arena.putText(`"${kind}":`);
      return [from, bytes];
    }),
  );
  module.set({
    objects: first,
    objectCount: compiled.objects.length,
    pairLists: first + compiled.objects.length * keyTableBytes,
    pairListCount: pairs.length,
    pairKinds: kinds,
    keysSeen: arena.allocateZeros(nameNumbersMax * wordBytes),
    unmapped: arena.allocate(nameNumbersMax * 2 * wordBytes),
  });
  return {
    unusualEntry: putEntry(layout, arena, unusualKey, Buffer.alloc(0)),
    meaningOfKey: (number, key) => {
      const { meaningOf } = all[number] as { readonly meaningOf: MeaningOf };
      const name = key.toString('utf8', 1, key.length - 1);
      return putEntry(layout, answers.arena, isUnusualKey(name) ? unusualKey : meaningOf(name), key);
    },
    clear: () => {
      for (const [number, place] of slotsOf.entries()) {
        module.bytes.fill(0, place, place + slots * wordBytes);
        module.words[(first + number * keyTableBytes) / wordBytes + keyTableWords.entries] = 0;
        module.words[(starts[number] ?? 0) / wordBytes + entryWords.next] = 0;
      }
    },
  };
}

const entryWords = { next: 21 } as const;

/** Writes an `Entry` of assembly/convert/entries.ts. */
function putEntry({ module, answers }: Layout, arena: Arena, meaning: KeyMeaning, key: Buffer): number {
  const output = arena.putBytes(meaning.output);
  const nothing = arena.putWords(meaning.nothing.flatMap((value) => pieceWords(arena.putBytes(value))));
  const fields = arena.putWords(meaning.fields.flatMap(({ list, index }) => [list, index]));
  const group = meaning.group === undefined ? 0 : meaning.group === '$set' ? 1 : 2;
  const unmapped = meaning.unmapped === undefined ? -1 : answers.unmappedNumber(meaning.unmapped);
  const words = [
    key.length,
    Number(meaning.isUnusual),
    meaning.object,
    meaning.pairs,
    Number(meaning.rejectsObjects),
    meaning.member,
    meaning.list,
    meaning.property,
    Number(meaning.isKept),
    meaning.ownKey,
    meaning.ownName,
    meaning.name,
    group,
    Number(meaning.isOfPerson),
    unmapped,
    output.from,
    output.bytes,
    nothing,
    meaning.nothing.length,
    fields,
    meaning.fields.length,
    0,
  ];
  const entry = arena.putWords(words, key.length);
  module.bytes.set(key, entry + words.length * wordBytes);
  return entry;
}
