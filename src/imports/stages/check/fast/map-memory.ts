import { isObject } from '../../../../base/json.ts';
import { currentProperties, initialProperties } from '../../../formats/add-person-of-event.ts';
import { normalisedTexts } from '../../../formats/normalise-properties.ts';
import type { ContentUuid, UuidRule } from '../../../formats/record-map.ts';
import { utc, type Zone } from '../../../formats/times.ts';
import { putFragment, putIdentity, putName, putText, type AnswerDeps } from './answers.ts';
import {
  checkedProperties,
  countryCode,
  countryName,
  urlProperties,
  type CompiledList,
  type CompiledMap,
  type CompiledPersonStep,
  type Target,
} from './compiled-map.ts';
import { areGroupsTrimmed, type Computed, type ComputedIdPart } from './computed.ts';
import type { ConvertModule, Variable } from './convert-module.ts';
import { pieceWords, wordBytes, type Arena } from './arena.ts';
import { createMemos, type Memos } from './memos.ts';
import { isUnusualKey, nameNumbersMax, unusualKey, type KeyMeaning, type MeaningOf } from './key-meaning.ts';

/** A compiled map in the memory of the module, in the layout of assembly/convert.ts and its imports. */
export interface MapMemory {
  readonly keys: Pick<KeyMemory, 'meaningOfKey' | 'unusualEntry'>;
  readonly memos: Pick<Memos, 'answerTo'>;
  /** Zones by their number in the module. */
  readonly zones: readonly Zone[];
  /** Drops everything that was derived from records. */
  clear(): void;
}

interface Layout {
  readonly module: ConvertModule;
  /** For data that lives as long as the map. */
  readonly arena: Arena;
  readonly compiled: CompiledMap;
  readonly answers: AnswerDeps;
  readonly memos: Memos;
}

/** Adds a memo of a computed value. `put` writes the value and returns its address. */
function addMemo<Value>(
  { compiled, memos }: Layout,
  slots: number,
  { of, from, read }: Computed<Value>,
  put: (value: Value) => number,
): number {
  const numbers = from.map(of === 'members' ? compiled.memberOf : compiled.propertyOf);
  return memos.add(slots, { of, numbers }, (values) => {
    const value = read(values);
    return value === undefined ? 0 : put(value);
  });
}

const itemsMax = 1024;
const identityMemos = 1 << 15;
const variedMemos = 8192;
const fewMemos = 256;
/** Kinds of `Step` in assembly/convert/properties.ts. */
const stepKinds = { list: 0, derived: 1, ids: 2, person: 3, $set: 4 } as const;

export function writeMap(module: ConvertModule, arena: Arena, answers: AnswerDeps): MapMemory {
  const { compiled } = answers;
  const members = arena.allocateZeros(compiled.members * 2 * wordBytes);
  const properties = arena.allocateZeros(compiled.properties * 2 * wordBytes);
  const memos = createMemos(module, arena, { members, properties });
  const layout = { module, arena, compiled, answers, memos };
  module.set({ members, memberCount: compiled.members, properties, propertyCount: compiled.properties });
  const keys = writeKeys(layout);
  writeLists(layout);
  writeSteps(layout);
  writeChecks(layout);
  writeUuid(layout);
  const zones = writeTime(layout);
  module.set({
    names: addMemo(layout, fewMemos, compiled.name, putName(answers)),
    identities: addMemo(layout, identityMemos, compiled.identity, putIdentity(answers)),
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
  const { module, arena, compiled } = layout;
  const { steps, map } = compiled;
  const words = steps.flatMap((step) =>
    typeof step === 'string' ? stepWords(stepKinds[step]) : writtenStepWords(layout, step, 'properties'),
  );
  const source = arena.putText(map.source === undefined ? '' : `"$import_source":${JSON.stringify(map.source)},`);
  module.set({
    steps: arena.putWords(words),
    stepCount: steps.length,
    source: source.from,
    sourceBytes: source.bytes,
    groups: arena.putWords([...groupWords(layout, '$set'), ...groupWords(layout, '$set_once')]),
    addsPerson: Number(steps.includes('person')),
  });
}

/** Returns a `Step` of assembly/convert/properties.ts. */
function stepWords(kind: number, list = -1, memo = 0): number[] {
  return [kind, list, memo, 0];
}

/** Returns a step that writes a list or a fragment. */
function writtenStepWords(layout: Layout, step: CompiledPersonStep['step'], target: Target): number[] {
  if (typeof step === 'number') return stepWords(stepKinds.list, step);
  const slots = step.isVaried === true ? variedMemos : fewMemos;
  return stepWords(stepKinds.derived, -1, addMemo(layout, slots, step, putFragment(layout.answers, target)));
}

/** Returns a `Group`. */
function groupWords(layout: Layout, target: CompiledPersonStep['target']): number[] {
  const { arena, compiled } = layout;
  const own = compiled.person.filter((each) => each.target === target);
  const standard = (target === '$set' ? currentProperties : initialProperties).flatMap((name) => {
    const { from, bytes } = arena.putText(`${JSON.stringify(name)}:`);
    return [compiled.propertyOf(name), compiled.names.numberOf(target, name), from, bytes];
  });
  const parts = arena.putWords(own.flatMap(({ step }) => writtenStepWords(layout, step, target)));
  const key = arena.putText(`"${target}":{`);
  return [...pieceWords(key), parts, own.length, arena.putWords(standard), standard.length / 4, 0, 0, 0];
}

function writeChecks(layout: Layout): void {
  const { module, arena, compiled, answers } = layout;
  const { propertyOf } = compiled;
  const texts = [...normalisedTexts].flatMap(([name, normalise]) => {
    const read = ([value]: readonly unknown[]): string =>
      JSON.stringify(typeof value === 'string' ? normalise(value) : value);
    return [propertyOf(name), addMemo(layout, fewMemos, { of: 'properties', from: [name], read }, putText(answers))];
  });
  const { groups } = checkedProperties;
  const areTrimmed = ([value]: readonly unknown[]): true | undefined =>
    (isObject(value) && areGroupsTrimmed(value)) || undefined;
  module.set({
    normalisedTexts: arena.putWords(texts),
    normalisedCount: texts.length / 2,
    isNormalised: Number(compiled.map.isNormalised === true),
    normalisedPieces: arena.allocateZeros(compiled.properties * wordBytes),
    values: arena.allocateZeros(compiled.properties * 2 * wordBytes),
    urlProperty: propertyOf(urlProperties.url),
    hostProperty: propertyOf(urlProperties.host),
    pathProperty: propertyOf(urlProperties.path),
    countryProperty: propertyOf(countryName),
    codeProperty: propertyOf(countryCode),
    noGeoipProperty: propertyOf(checkedProperties.noGeoip),
    groupsProperty: propertyOf(groups),
    profileProperty: propertyOf(checkedProperties.profile),
    trimmedGroups: addMemo(layout, fewMemos, { of: 'properties', from: [groups], read: areTrimmed }, () => 1),
  });
}

/** Returns the zones by number; 0 is UTC. */
function writeTime(layout: Layout): readonly Zone[] {
  const { module, compiled, answers } = layout;
  const { form } = compiled.map.time;
  const zones = [utc];
  if (compiled.time !== undefined) module.set({ timeMemo: addMemo(layout, fewMemos, compiled.time, putText(answers)) });
  if (form === undefined) return zones;
  const numberOf = (zone: Zone): number => {
    if (!zones.includes(zone)) zones.push(zone);
    return zones.indexOf(zone);
  };
  const units = { s: 1, ms: 2, us: 3 } as const;
  module.set({
    timeMemo: 0,
    timeMember: compiled.memberOf(form.path),
    textZone: numberOf(form.zone),
    numberZone: form.numbers === undefined ? -1 : numberOf(form.numbers),
    timeUnit: form.unit === undefined ? 0 : units[form.unit],
    areDigits: Number(form.areDigits === true),
    isKept: Number(form.isKept === true),
  });
  return zones;
}

/** Kinds of UUIDs in assembly/convert/uuids.ts. */
const uuidKinds = { uuid: 0, name: 1, content: 2, parts: 3, nameOrContent: 4 } as const;
const partMemos = 1024;

function writeUuid(layout: Layout): void {
  const { module, compiled } = layout;
  const { uuid } = compiled.map;
  if (uuid.is === 'parts') return writeParts(layout, uuid.namespace);
  const content = contentOf(uuid);
  if (uuid.is === 'content') return module.set({ uuidKind: uuidKinds.content, ...contentSpace(layout, content) });
  const uuidMember = compiled.memberOf(uuid.path);
  if (uuid.is === 'uuid') return module.set({ uuidKind: uuidKinds.uuid, uuidMember });
  module.set({
    uuidKind: content === undefined ? uuidKinds.name : uuidKinds.nameOrContent,
    uuidMember,
    ...nameSpace(layout, uuid.namespace),
    ...contentSpace(layout, content),
    countsNames: Number(uuid.occurrences !== undefined),
  });
}

/** Returns the rule of records that get their uuid from their content, as canonicalJson writes it. */
export function contentOf(uuid: UuidRule): ContentUuid | undefined {
  if (uuid.is === 'content') return uuid;
  if (uuid.is !== 'name' || typeof uuid.otherwise !== 'object') return undefined;
  return uuid.otherwise.textOf === undefined ? uuid.otherwise : undefined;
}

type Variables = Partial<Record<Variable, number>>;

function nameSpace({ arena }: Layout, namespace: Uint8Array): Variables {
  const { from, bytes } = arena.putBytes(namespace);
  return { nameSpace: from, nameSpaceBytes: bytes };
}

function contentSpace({ arena }: Layout, content: ContentUuid | undefined): Variables {
  if (content === undefined) return {};
  const { from, bytes } = arena.putBytes(content.namespace);
  return { contentSpace: from, contentSpaceBytes: bytes };
}

function writeParts(layout: Layout, namespace: Uint8Array): void {
  const { module, arena } = layout;
  const { parts, firstParts } = layout.compiled.uuidParts;
  module.set({
    uuidKind: uuidKinds.parts,
    uuidPartCount: parts.length,
    uuidPartsGiven: firstParts,
    ...nameSpace(layout, namespace),
    uuidParts: arena.putWords(parts.flatMap((part) => partWords(layout, part))),
  });
}

/** Returns a `Part` of assembly/convert/uuids.ts. */
function partWords(layout: Layout, part: ComputedIdPart): number[] {
  const { arena, compiled, answers } = layout;
  if (part === 'time') return [0, 0, 0];
  if ('text' in part) return [1, ...pieceWords(arena.putText(part.text))];
  if ('path' in part) return [2, compiled.memberOf(part.path), Number(part.isNeeded === true)];
  return [3, addMemo(layout, partMemos, part, putText(answers)), 0];
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
