import { isObject } from '../../../../base/json.ts';
import { notEventWarning } from '../../../../wire/batch/not-events.ts';
import { pieceWords, wordBytes, type Arena } from './arena.ts';
import type { CompiledTable, Target } from './compiled-table.ts';
import { Fragments, type Fragment } from './fragments.ts';
import { knownIdentity, knownName, type KnownIdentity, type KnownName } from './known.ts';
import type { MakeAnswer } from './memos.ts';
import type { PlainDerived, PlainTable } from './plain-table.ts';

/** A name with its address in the memory of the module. */
export interface StoredName extends KnownName {
  readonly address: number;
}

export interface AnswerDeps {
  readonly table: PlainTable;
  readonly compiled: CompiledTable;
  /** Receives the answers. */
  readonly arena: Arena;
  /** Returns the number of an unmapped name. */
  readonly unmappedNumber: (name: string) => number;
  readonly names: StoredName[];
  /** Flags of names that need no sample: the module forgets names, and does not cache long ones. */
  readonly sampledNames: Map<string, number>;
  readonly identities: KnownIdentity[];
}

/** Words of `Name` in assembly/convert.ts. */
export const nameWords = { number: 2, flags: 3 } as const;
export const nameFlags = { sampled: 1, sampledLinked: 2, skipped: 4 } as const;

export function nameAnswer({ table, arena, names, sampledNames }: AnswerDeps): MakeAnswer {
  return (values) => {
    const known = knownName(table, values);
    // The reader skips and counts what is not stored as an event.
    if (known === undefined || notEventWarning(known.name) !== undefined) return 0;
    const flags = known.skipReason === undefined ? (sampledNames.get(known.name) ?? 0) : nameFlags.skipped;
    const address = arena.putWords([...pieceWords(arena.putText(known.name)), names.length, flags]);
    names.push({ ...known, address });
    return address;
  };
}

/** Words of `Identity` there, before the time of its earliest link, a double. */
const identityWords = 4;

export function identityAnswer(deps: AnswerDeps): MakeAnswer {
  const { table, compiled, arena, identities } = deps;
  const fragments = new Fragments(compiled);
  return (values) => {
    const found = knownIdentity(table, fragments, values);
    if (found === undefined) return 0;
    const id = arena.putText(found.known.distinctId);
    const fragment = putFragment(deps, found.fragment);
    const number = identities.push(found.known) - 1;
    const address = arena.putWords([...pieceWords(id), fragment, number], 8);
    arena.setDouble(address + identityWords * wordBytes, found.known.link === undefined ? -1 : Infinity);
    return address;
  };
}

/** Returns the answer of a step as `Fragment` of assembly/convert/properties.ts. */
export function derivedAnswer(deps: AnswerDeps, { make }: PlainDerived, target: Target): MakeAnswer {
  const fragments = new Fragments(deps.compiled, target);
  return (values) => {
    const properties = make(values);
    const fragment = properties && fragments.of(properties);
    return fragment === undefined ? 0 : putFragment(deps, fragment);
  };
}

const fragmentBytes = 32;

/** Writes a fragment, followed by its lists of numbers. */
function putFragment({ arena, unmappedNumber }: AnswerDeps, { text, names, tracked, unmapped }: Fragment): number {
  const { from, bytes } = arena.putText(text);
  const lists = names.length + tracked.length + unmapped.length;
  const address = arena.allocate(fragmentBytes + lists * wordBytes);
  const ofNames = address + fragmentBytes;
  const ofTracked = ofNames + names.length * wordBytes;
  const ofUnmapped = ofTracked + tracked.length * wordBytes;
  const lengths = [names.length, tracked.length / 3, unmapped.length] as const;
  arena.setWords(address, [from, bytes, ofNames, lengths[0], ofTracked, lengths[1], ofUnmapped, lengths[2]]);
  arena.setWords(ofNames, names);
  // The number of a property, then start and end of its value.
  for (let at = 0; at < tracked.length; at += 1)
    arena.setWord(ofTracked, at, (tracked[at] ?? 0) + (at % 3 === 0 ? 0 : from));
  for (let at = 0; at < unmapped.length; at += 1) arena.setWord(ofUnmapped, at, unmappedNumber(unmapped[at] ?? ''));
  return address;
}

/** Normalises a text in place. */
export function normalisedAnswer({ arena }: AnswerDeps, normalise: (text: string) => string): MakeAnswer {
  return ([value]) => {
    const text = JSON.stringify(typeof value === 'string' ? normalise(value) : value);
    return arena.putWords(pieceWords(arena.putText(text)));
  };
}

/** Derives a text from members: a part of an id, or a time. */
export function textAnswer(
  { arena }: AnswerDeps,
  make: (values: readonly unknown[]) => string | undefined,
): MakeAnswer {
  return (values) => {
    const text = make(values);
    return text === undefined ? 0 : arena.putWords(pieceWords(arena.putText(text)));
  };
}

/** Rejects group keys with surrounding white space, which the reader counts. */
export const trimmedAnswer: MakeAnswer = ([value]) =>
  Number(isObject(value) && Object.values(value).every((key) => typeof key !== 'string' || key.trim() === key));
