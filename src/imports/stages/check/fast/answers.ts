import { isObject } from '../../../../base/json.ts';
import { notEventWarning } from '../../../../wire/batch/not-events.ts';
import type { PlainDerived, PlainTable } from './plain-table.ts';
import type { CompiledTable, Target } from './compiled-table.ts';
import { Fragments, type Fragment } from './fragments.ts';
import { knownIdentity, knownName, type KnownIdentity, type KnownName } from './known.ts';
import type { MemoryRoom, Piece } from './memory-room.ts';
import type { MakeAnswer } from './memos.ts';
import { wordBytes } from './writing.ts';

/** With its place in the machine's memory. */
export interface PlacedName extends KnownName {
  readonly place: number;
}

/** What the makers of answers have in common. */
export interface AnswerDeps {
  readonly table: PlainTable;
  readonly compiled: CompiledTable;
  /** Where answers are put. */
  readonly room: MemoryRoom;
  /** Number of a name that somebody wants to hear. */
  readonly heardNumber: (name: string) => number;
  readonly names: PlacedName[];
  /** Flags of names of which samples were looked for: the machine forgets names, or does not remember them at all. */
  readonly sampledNames: Map<string, number>;
  readonly identities: KnownIdentity[];
}

/** As `Name` in assembly/convert.ts. */
export const nameWords = { number: 2, flags: 3 } as const;
export const nameFlags = { sampled: 1, sampledLinked: 2, skipped: 4 } as const;

export function nameAnswer({ table, room, names, sampledNames }: AnswerDeps): MakeAnswer {
  return (values) => {
    const known = knownName(table, values);
    // What is not stored as an event is skipped by the reader, which counts it.
    if (known === undefined || notEventWarning(known.name) !== undefined) return 0;
    const { from, bytes } = room.putText(known.name);
    const flags = known.leftOut === undefined ? (sampledNames.get(known.name) ?? 0) : nameFlags.skipped;
    const place = room.putWords([from, bytes, names.length, flags]);
    names.push({ ...known, place });
    return place;
  };
}

/** As `Identity` there: behind four words the time of its earliest link, as a double. */
const identityWords = 4;

export function identityAnswer(deps: AnswerDeps): MakeAnswer {
  const { table, compiled, room, identities } = deps;
  const fragments = new Fragments(compiled);
  return (values) => {
    const found = knownIdentity(table, fragments, values);
    if (found === undefined) return 0;
    const { from, bytes } = room.putText(found.known.distinctId);
    const fragment = putFragment(deps, found.fragment);
    const number = identities.push(found.known) - 1;
    const place = room.putWords([from, bytes, fragment, number], 8);
    room.setDouble(place + identityWords * wordBytes, found.known.link === undefined ? -1 : Infinity);
    return place;
  };
}

/** As `Fragment` in assembly/convert/properties.ts. */
export function derivedAnswer(deps: AnswerDeps, { make }: PlainDerived, target: Target): MakeAnswer {
  const fragments = new Fragments(deps.compiled, target);
  return (values) => {
    const properties = make(values);
    const fragment = properties && fragments.of(properties);
    return fragment === undefined ? 0 : putFragment(deps, fragment);
  };
}

const fragmentBytes = 32;

/** The lists of numbers stand behind it. */
function putFragment({ room, heardNumber }: AnswerDeps, { text, names, looked, heard }: Fragment): number {
  const { from, bytes } = room.putText(text);
  const numbers = room.take(fragmentBytes + (names.length + looked.length + heard.length) * 4);
  const ofNames = numbers + fragmentBytes;
  const ofLooked = ofNames + names.length * 4;
  const ofHeard = ofLooked + looked.length * 4;
  room.setWords(numbers, [from, bytes, ofNames, names.length, ofLooked, looked.length / 3, ofHeard, heard.length]);
  room.setWords(ofNames, names);
  // The number of a property, and places of its value.
  for (let at = 0; at < looked.length; at += 1)
    room.setWord(ofLooked, at, (looked[at] ?? 0) + (at % 3 === 0 ? 0 : from));
  for (let at = 0; at < heard.length; at += 1) room.setWord(ofHeard, at, heardNumber(heard[at] ?? ''));
  return numbers;
}

/** As `Piece` in assembly/convert/answers.ts. */
export function putPiece(room: MemoryRoom, { from, bytes }: Piece): number {
  return room.putWords([from, bytes]);
}

/** What a text becomes that is written in another way where it stands. */
export function settledAnswer({ room }: AnswerDeps, settled: (text: string) => string): MakeAnswer {
  return ([value]) => {
    const text = JSON.stringify(typeof value === 'string' ? settled(value) : value);
    return putPiece(room, room.putText(text));
  };
}

/** A text that follows from members: part of an id, or a time. */
export function textAnswer({ room }: AnswerDeps, make: (values: readonly unknown[]) => string | undefined): MakeAnswer {
  return (values) => {
    const text = make(values);
    return text === undefined ? 0 : putPiece(room, room.putText(text));
  };
}

/** Keys of groups with white space around them are counted. */
export const trimmedAnswer: MakeAnswer = ([value]) =>
  Number(isObject(value) && Object.values(value).every((key) => typeof key !== 'string' || key.trim() === key));
