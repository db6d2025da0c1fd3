import { isObject } from '../../../../base/json.ts';
import type { PlainDerived, PlainTable } from '../../../formats/plain-table.ts';
import { hashText } from '../event-keys.ts';
import type { CompiledTable, Target } from './compiled-table.ts';
import { createFragment, type Fragment } from './fragments.ts';
import { knownIdentity, knownName, type KnownIdentity, type KnownName } from './known.ts';
import type { MemoryRoom, Piece } from './memory-room.ts';
import type { MakeAnswer } from './memos.ts';

/** What the makers of answers have in common. */
export interface AnswerDeps {
  readonly table: PlainTable;
  readonly compiled: CompiledTable;
  /** Where answers are put. */
  readonly room: MemoryRoom;
  /** Number of a name that somebody wants to hear. */
  readonly heardNumber: (name: string) => number;
  readonly names: KnownName[];
  readonly identities: KnownIdentity[];
}

/** As `Name` in assembly/convert.ts. */
export function nameAnswer({ table, room, names }: AnswerDeps): MakeAnswer {
  return (values) => {
    const known = knownName(table, values);
    if (known === undefined) return 0;
    const hash = { low: 0, high: 0 };
    hashText(known.name, hash);
    const json = room.putText(JSON.stringify(known.name));
    return room.putWords([json.from, json.bytes, hash.low, hash.high, names.push(known) - 1]);
  };
}

/** As `Identity` there. */
export function identityAnswer(deps: AnswerDeps): MakeAnswer {
  const { table, compiled, room, identities } = deps;
  return (values) => {
    const known = knownIdentity(table, compiled, values);
    if (known === undefined) return 0;
    const json = room.putText(JSON.stringify(known.distinctId));
    const id = room.putText(known.distinctId);
    const { low, high } = known.hash;
    const fragment = putFragment(deps, known.fragment);
    return room.putWords([json.from, json.bytes, id.from, id.bytes, low, high, fragment, identities.push(known) - 1]);
  };
}

/** As `Fragment` in assembly/convert/properties.ts. */
export function derivedAnswer(deps: AnswerDeps, { make }: PlainDerived, target: Target): MakeAnswer {
  return (values) => {
    const properties = make(values);
    const fragment = properties && createFragment(properties, deps.compiled, target);
    return fragment === undefined ? 0 : putFragment(deps, fragment);
  };
}

function putFragment({ room, heardNumber }: AnswerDeps, { bytes, names, looked, heard }: Fragment): number {
  const piece = room.putBytes(bytes);
  const spans = looked.flatMap(({ property, from, to }) => [property, piece.from + from, piece.from + to]);
  const lists = [names, spans, heard.map(heardNumber)].map((numbers) => room.putWords(numbers));
  const [ofNames = 0, ofLooked = 0, ofHeard = 0] = lists;
  return room.putWords([
    piece.from,
    piece.bytes,
    ofNames,
    names.length,
    ofLooked,
    looked.length,
    ofHeard,
    heard.length,
  ]);
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
