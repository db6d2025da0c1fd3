import { distinctIdCharsMax, nameCharsMax } from '../../../../wire/batch/limits.ts';
import { notEventWarning } from '../../../../wire/batch/not-events.ts';
import { withoutPersonChanges } from '../../../../wire/contract/profile-events.ts';
import { skippedNameReason } from '../../../formats/event-writer.ts';
import { hashText, type Words } from '../rows/event-keys.ts';
import type { IdCount, NameEntry } from '../tally/event-tally.ts';
import type { SegmentTally } from '../tally/segment-tally.ts';
import { pieceWords, wordBytes, type Arena } from './arena.ts';
import type { CompiledMap, Target } from './compiled-map.ts';
import type { ComputedIdentity, ComputedName } from './computed.ts';
import { Fragments } from './fragments.ts';

/** The name of an event with what follows from it. */
export interface KnownName {
  readonly name: string;
  /** Why the event is skipped; `undefined` if it is not. */
  readonly skipReason: string | undefined;
  /** Whether the event only shows that its person exists. */
  readonly changesNothing: boolean;
  /** Address in the memory of the module. */
  readonly address: number;
  /** Its entry in `tally`, the segment that counted it last. */
  entry: NameEntry | undefined;
  tally: SegmentTally | undefined;
}

/** The person of an event with what follows from the ids. The words are the hash of the distinct_id. */
export interface KnownIdentity extends Words {
  readonly distinctId: string;
  readonly link: ComputedIdentity['link'];
  count: IdCount | undefined;
  tally: SegmentTally | undefined;
}

export interface AnswerDeps {
  readonly compiled: CompiledMap;
  /** Receives the answers. */
  readonly arena: Arena;
  /** Returns the number of an unmapped name. */
  readonly unmappedNumber: (name: string) => number;
  readonly names: KnownName[];
  /** Flags of names that need no sample: the module forgets names, and does not cache long ones. */
  readonly sampledNames: Map<string, number>;
  readonly identities: KnownIdentity[];
}

/** Writes a value to memory and returns its address; 0 if it makes the record unusual. */
type PutAnswer<Value> = (value: Value) => number;

/** Words of `Name` in assembly/convert.ts. */
export const nameWords = { number: 2, flags: 3 } as const;
export const nameFlags = { sampled: 1, sampledLinked: 2, skipped: 4 } as const;

/** Events that concern persons and groups by their name. */
const unusualEvents: ReadonlySet<string> = new Set([
  '$create_alias',
  '$group_identify',
  '$groupidentify',
  '$identify',
  '$merge_dangerously',
]);

export function putName({ arena, names, sampledNames }: AnswerDeps): PutAnswer<ComputedName> {
  return ({ name, isSkipped }) => {
    // The reader skips and counts what is not stored as an event.
    if (unusualEvents.has(name) || !isValidText(name, nameCharsMax) || notEventWarning(name) !== undefined) return 0;
    const flags = isSkipped ? nameFlags.skipped : (sampledNames.get(name) ?? 0);
    const address = arena.putWords([...pieceWords(arena.putText(name)), names.length, flags]);
    names.push({
      name,
      skipReason: isSkipped ? skippedNameReason(name) : undefined,
      changesNothing: withoutPersonChanges.has(name),
      address,
      entry: undefined,
      tally: undefined,
    });
    return address;
  };
}

/** Words of `Identity` there, before the time of its earliest link, a double. */
const identityWords = 4;

export function putIdentity(deps: AnswerDeps): PutAnswer<ComputedIdentity> {
  const { arena, identities } = deps;
  const putProperties = putFragment(deps);
  return ({ distinctId, link, properties }) => {
    const ids = link === undefined ? [distinctId] : [distinctId, link.user, link.device];
    const fragment = ids.every(isStoredUnchanged) ? putProperties(properties) : 0;
    if (fragment === 0) return 0;
    const known: KnownIdentity = { distinctId, low: 0, high: 0, link, count: undefined, tally: undefined };
    hashText(distinctId, known);
    const number = identities.push(known) - 1;
    const address = arena.putWords([...pieceWords(arena.putText(distinctId)), fragment, number], 8);
    arena.setDouble(address + identityWords * wordBytes, link === undefined ? -1 : Infinity);
    return address;
  };
}

/** Whether an id is neither shortened nor trimmed. */
function isStoredUnchanged(id: string): boolean {
  const first = id.charCodeAt(0);
  const last = id.charCodeAt(id.length - 1);
  return first > 0x20 && first < 0x7f && last > 0x20 && last < 0x7f && isValidText(id, distinctIdCharsMax);
}

function isValidText(text: string, charsMax: number): boolean {
  return text.length > 0 && text.length <= charsMax && !text.includes('\0') && text.isWellFormed();
}

const fragmentBytes = 32;

/** Writes properties as a `Fragment` of assembly/convert/properties.ts, followed by its lists of numbers. */
export function putFragment(
  { compiled, arena, unmappedNumber }: AnswerDeps,
  target: Target = 'properties',
): PutAnswer<Readonly<Record<string, unknown>>> {
  const fragments = new Fragments(compiled, target);
  return (properties) => {
    const fragment = fragments.of(properties);
    if (fragment === undefined) return 0;
    const { names, tracked, unmapped } = fragment;
    const { from, bytes } = arena.putText(fragment.text);
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
  };
}

export function putText({ arena }: AnswerDeps): PutAnswer<string> {
  return (text) => arena.putWords(pieceWords(arena.putText(text)));
}
