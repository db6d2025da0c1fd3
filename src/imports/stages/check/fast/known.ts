import { distinctIdCharsMax, nameCharsMax } from '../../../../wire/batch/limits.ts';
import { withoutPersonChanges } from '../../../../wire/contract/profile-events.ts';
import { skippedNameReason } from '../../../formats/event-writer.ts';
import type { PlainIdentity, PlainTable } from './plain-table.ts';
import { hashText, type Words } from '../rows/event-keys.ts';
import type { IdCount, NameEntry } from '../tally/event-tally.ts';
import type { SegmentTally } from '../tally/segment-tally.ts';
import type { Fragment, Fragments } from './fragments.ts';

/** The name of an event with what follows from it. */
export interface KnownName {
  readonly name: string;
  /** Why the event is skipped; `undefined` if it is not. */
  readonly skipReason: string | undefined;
  /** Whether the event only shows that its person exists. */
  readonly changesNothing: boolean;
  /** Its entry in `tally`, the segment that counted it last. */
  entry: NameEntry | undefined;
  tally: SegmentTally | undefined;
}

/** The person of an event with what follows from the ids. The words are the hash of the distinct_id. */
export interface KnownIdentity extends Words {
  readonly distinctId: string;
  readonly link: PlainIdentity['link'];
  count: IdCount | undefined;
  tally: SegmentTally | undefined;
}

/** Events that concern persons and groups by their name. */
const unusualEvents: ReadonlySet<string> = new Set([
  '$create_alias',
  '$group_identify',
  '$groupidentify',
  '$identify',
  '$merge_dangerously',
]);

/** Returns the name that follows from some members; `undefined` if the record is unusual. */
export function knownName({ eventName }: PlainTable, values: readonly unknown[]): KnownName | undefined {
  const given = eventName(values);
  if (given === undefined) return undefined;
  const name = given ?? String(values[0]);
  if (unusualEvents.has(name) || !isValidText(name, nameCharsMax)) return undefined;
  const skipReason = given === null ? skippedNameReason(name) : undefined;
  return { name, skipReason, changesNothing: withoutPersonChanges.has(name), entry: undefined, tally: undefined };
}

/** Returns the person that follows from the ids, with their properties; `undefined` if the record is unusual. */
export function knownIdentity(
  { ids, identify }: PlainTable,
  fragments: Fragments,
  values: readonly unknown[],
): { readonly known: KnownIdentity; readonly fragment: Fragment } | undefined {
  const identity = ids.read(values);
  if (identity === undefined || !isStoredUnchanged(identity.distinctId)) return undefined;
  const { distinctId, properties } = identity;
  const link = identify === undefined || identity.link?.user === identity.link?.device ? undefined : identity.link;
  if (link !== undefined && !(isStoredUnchanged(link.user) && isStoredUnchanged(link.device))) return undefined;
  const fragment = fragments.of(properties);
  if (fragment === undefined) return undefined;
  const known = { distinctId, low: 0, high: 0, link, count: undefined, tally: undefined };
  hashText(distinctId, known);
  return { known, fragment };
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
