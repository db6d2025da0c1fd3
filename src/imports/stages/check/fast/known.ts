import { distinctIdCharsMax, nameCharsMax } from '../../../../wire/batch/limits.ts';
import { saysNothing } from '../../../../wire/contract/profile-events.ts';
import { skippedNameReason } from '../../../formats/event-writer.ts';
import type { PlainIdentity, PlainTable } from './plain-table.ts';
import { hashText, type Words } from '../rows/event-keys.ts';
import type { IdCount, NameEntry } from '../tally/event-tally.ts';
import type { SegmentTally } from '../tally/segment-tally.ts';
import type { Fragment, Fragments } from './fragments.ts';

/** An event's name, with what is known of it. */
export interface KnownName {
  readonly name: string;
  /** Why the event is left out; undefined: it is not. */
  readonly leftOut: string | undefined;
  /** Whether it says nothing of its person but that they are there. */
  readonly saysNothing: boolean;
  /** Of the segment that was counted in last. */
  entry: NameEntry | undefined;
  tally: SegmentTally | undefined;
}

/** Whom an event belongs to, with what is known of them: the hash of the id, among others. */
export interface KnownIdentity extends Words {
  readonly distinctId: string;
  readonly link: PlainIdentity['link'];
  count: IdCount | undefined;
  tally: SegmentTally | undefined;
}

/** Events that say something of persons and groups by their name. */
const unusualEvents: ReadonlySet<string> = new Set([
  '$create_alias',
  '$group_identify',
  '$groupidentify',
  '$identify',
  '$merge_dangerously',
]);

/** By what names the event; undefined: the record is odd. */
export function knownName({ eventName }: PlainTable, values: readonly unknown[]): KnownName | undefined {
  const given = eventName(values);
  if (given === undefined) return undefined;
  const name = given ?? String(values[0]);
  if (unusualEvents.has(name) || !isPlainText(name, nameCharsMax)) return undefined;
  const leftOut = given === null ? skippedNameReason(name) : undefined;
  return { name, leftOut, saysNothing: saysNothing.has(name), entry: undefined, tally: undefined };
}

/** By the ids of a record, with what they become among the properties; undefined: the record is odd. */
export function knownIdentity(
  { ids, identify }: PlainTable,
  fragments: Fragments,
  values: readonly unknown[],
): { readonly known: KnownIdentity; readonly fragment: Fragment } | undefined {
  const identity = ids.read(values);
  if (identity === undefined || !isPlainId(identity.distinctId)) return undefined;
  const { distinctId, properties } = identity;
  const link = identify === undefined || identity.link?.user === identity.link?.device ? undefined : identity.link;
  if (link !== undefined && !(isPlainId(link.user) && isPlainId(link.device))) return undefined;
  const fragment = fragments.of(properties);
  if (fragment === undefined) return undefined;
  const known = { distinctId, low: 0, high: 0, link, count: undefined, tally: undefined };
  hashText(distinctId, known);
  return { known, fragment };
}

/** Neither cut nor trimmed by anybody. */
function isPlainId(id: string): boolean {
  const first = id.charCodeAt(0);
  const last = id.charCodeAt(id.length - 1);
  return first > 0x20 && first < 0x7f && last > 0x20 && last < 0x7f && isPlainText(id, distinctIdCharsMax);
}

function isPlainText(text: string, charsMax: number): boolean {
  return text.length > 0 && text.length <= charsMax && !text.includes('\0') && text.isWellFormed();
}
