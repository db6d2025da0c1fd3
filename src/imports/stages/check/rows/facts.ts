import { haveSameKeys, type JsonSpan } from '../../../../base/same-keys.ts';
import { isObject } from '../../../../base/json.ts';
import { groupTypesIn } from '../../../../wire/batch/group-names.ts';
import { profileFlag, profileKeys } from '../../../../wire/batch/stored-properties.ts';
import { dayMicros } from '../../../../wire/batch/timestamps.ts';
import { otherIdOf, profileEvents, withoutPersonChanges } from '../../../../wire/contract/profile-events.ts';
import { identityProperty } from '../../../../wire/contract/wire-event.ts';
import type { EventRowWriter } from '../../../../stores/events/rows.ts';
import { runMark } from '../../../checksum.ts';

export interface FactsOf {
  readonly projectId: number;
  readonly runId: string;
}

/**
 * Reduces the events of one segment to those that change persons and groups: fewer rows of the same form, with only the properties that
 * matter. The pipeline reads the facts of all segments, those of merged ids together, in order of time and place, and ends with the same
 * persons and groups as after the events themselves. Why:
 *
 * - Events that merge persons, concern a group, or are refused for either are kept whole. So every merge is decided as before: that depends
 *   on which ids have persons, how many, and who is identified, never on properties.
 * - The first of the other events of an id creates its person and sets its creation time. Later ones find both done.
 * - `$set_once` keeps the earliest value of a key, an empty one only until there is another. Of events with the same keys, empty in the same
 *   places, the first makes the others ineffective. The same applies to `$groups`: the first event that names a group type assigns its
 *   number.
 * - `$set` and `$unset` keep the latest value of a key. Of events with the same keys the latest overwrites the others, in their person or in
 *   the one that it was merged into.
 *
 * Events with `$set` or `$unset` at the same time are all kept: the order of arrival decides, also between segments. An event that segments
 * repeat, with equal time and properties, is in the facts once, as in the rows. If only one segment keeps it as a fact, because the other
 * keeps an equivalent event, it changes nothing: that event is earlier where the first one counts, and later where the latest one counts.
 *
 * All this concerns the events of one id. Where rows of one identity differ, a fact may come from a copy that is not stored; the stored rows
 * of these ids must then be read instead of their facts.
 */
export interface Facts {
  add(event: FactEvent): void;
  /** Writes the facts since the last call. */
  write(): void;
}

/** An event as it is stored. */
export interface FactEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinctId: string;
  /** Time, in µs since the epoch. */
  readonly micros: number;
  /** Its place in the source: `received_at`, in µs. */
  readonly place: number;
  /** With numbers as parsed by `parseExactValues`, because facts contain every digit. */
  readonly properties: Readonly<Record<string, unknown>>;
}

type Key = (typeof profileKeys)[number] | '$groups' | 'first';

/** A kept event and the reason for keeping it. */
interface Claim {
  /** The property that is kept; `first` means the first event of its id. */
  readonly key: Key;
  /** For `$groups`: the type that the event names first. */
  readonly type: string;
  /** JSON of the property. */
  text: Buffer;
  micros: number;
  place: number;
  uuid: string;
  event: string;
  isPersonless: boolean;
  /** Another event with the same reason and time; which of the two counts is not known here. */
  tied: Claim | null;
}

/** The event being added. */
interface Incoming extends Pick<Claim, 'micros' | 'place' | 'isPersonless'> {
  readonly uuid: string;
  readonly event: string;
}

/** Maximum claims of an id that an event is compared with, newest first. */
const comparedMax = 32;
const noText = Buffer.alloc(0);
const wholeKeys = [
  ...profileKeys,
  '$groups',
  '$group_type',
  '$group_key',
  '$group_set',
  '$anon_distinct_id',
  'alias',
  profileFlag,
  identityProperty,
];

/** Creates facts that are written to `writer`. */
export function createFacts(of: FactsOf, writer: EventRowWriter): Facts {
  const rows = createFactRows(of, writer);
  /** Claims by id. */
  let claims = new Map<string, Claim[]>();
  const claimsOf = (distinctId: string): Claim[] => {
    let own = claims.get(distinctId);
    if (own === undefined) claims.set(distinctId, (own = []));
    return own;
  };

  return {
    add: (event) => {
      const { properties } = event;
      const isPersonless = Object.hasOwn(properties, profileFlag) && properties[profileFlag] === false;
      if (isWhole(event, isPersonless)) return rows.write(event, wholeMembers(properties));
      const types = groupTypesIn(Object.hasOwn(properties, '$groups') ? properties['$groups'] : undefined);
      if (isPersonless && types.length === 0) return;
      const { uuid, event: name, micros, place } = event;
      const incoming = { uuid, event: name, micros, place, isPersonless };
      const own = claimsOf(event.distinctId);
      const claimKey = (key: Key, type = ''): void => {
        claim(own, incoming, { key, type }, Buffer.from(JSON.stringify(properties[key])));
      };
      for (const type of types) claimKey('$groups', type);
      if (isPersonless) return;
      claimFirst(own, incoming);
      if (withoutPersonChanges.has(event.event)) return;
      for (const key of profileKeys) {
        if (isObject(properties[key]) || (key === '$unset' && Array.isArray(properties[key]))) claimKey(key);
      }
    },
    write: () => {
      for (const [distinctId, own] of claims) rows.writeClaims(distinctId, own);
      claims = new Map();
    },
  };
}

function createFactRows({ projectId, runId }: FactsOf, writer: EventRowWriter) {
  const mark = runMark(runId);
  const write = (fact: Omit<FactEvent, 'properties'>, members: Iterable<string>): void => {
    const text = [...members].join(',');
    writer.write({
      projectId,
      historical: true,
      receivedAtMicros: fact.place,
      timestampMicros: fact.micros,
      keyDay: Math.floor(fact.micros / dayMicros),
      uuid: fact.uuid,
      event: fact.event,
      distinctId: fact.distinctId,
      properties: `{${text}${text === '' ? mark.slice(1) : mark}`,
      importRun: runId,
    });
  };
  const writeEvent = (distinctId: string, of: readonly Claim[]): void => {
    const [{ uuid, event, micros, place, isPersonless }] = of as readonly [Claim];
    write({ uuid, event, distinctId, micros, place }, membersOf(of, isPersonless));
  };
  /** Writes one row per event. Events of a record share a place only if the record has more events than places. */
  const writeClaims = (distinctId: string, own: readonly Claim[]): void => {
    const byEvent = Map.groupBy(withTied(own), ({ place, uuid, event }) => `${place} ${uuid}${event}`);
    for (const of of byEvent.values()) writeEvent(distinctId, of);
  };
  return { write, writeClaims };
}

/** Whether an event is kept whole, because its effect may depend on more than its properties. */
function isWhole({ event, properties }: FactEvent, isPersonless: boolean): boolean {
  if (!profileEvents.has(event)) return false;
  const otherId = otherIdOf.get(event);
  return isPersonless || otherId === undefined || Boolean(properties[otherId]);
}

function wholeMembers(properties: FactEvent['properties']): string[] {
  return wholeKeys.flatMap((key) => {
    const text = Object.hasOwn(properties, key) ? JSON.stringify(properties[key]) : undefined;
    return text === undefined ? [] : [`"${key}":${text.toString()}`];
  });
}

/** Returns the members of one event's claims. Several group types share one property. */
function membersOf(claims: readonly Claim[], isPersonless: boolean): ReadonlySet<string> {
  const members = new Set<string>();
  if (isPersonless) members.add(`"${profileFlag}":false`);
  for (const { key, text } of claims) if (key !== 'first') members.add(`"${key}":${text.toString()}`);
  return members;
}

function claimFirst(own: Claim[], incoming: Incoming): void {
  const known = own[0];
  if (known?.key === 'first') replaceBy(known, incoming);
  else own.unshift(newClaim(incoming, { key: 'first', type: '' }, noText));
}

/** Claims the event for a property with the JSON `text`. */
function claim(own: Claim[], incoming: Incoming, of: Pick<Claim, 'key' | 'type'>, text: Buffer): void {
  for (let at = own.length - 1; at >= Math.max(0, own.length - comparedMax); at--) {
    const known = own[at] as Claim;
    if (known.key !== of.key || known.type !== of.type || !isAlike(known, text)) continue;
    if (replaceBy(known, incoming)) known.text = text;
    return;
  }
  own.push(newClaim(incoming, of, text));
}

function newClaim(incoming: Incoming, { key, type }: Pick<Claim, 'key' | 'type'>, text: Buffer): Claim {
  return { key, type, text, ...incoming, tied: null };
}

/** Whether an event with the property `other` has the same effect. The lists of `$unset` are compared as text only. */
function isAlike({ key, text }: Claim, other: Buffer): boolean {
  if (text.equals(other) || key === '$groups') return true;
  return key !== '$unset' && haveSameKeys(spanOf(text), spanOf(other));
}

function spanOf(json: Buffer): JsonSpan {
  return { json, from: 0, to: json.length };
}

/** Replaces a claim by an equivalent event, or keeps both if they have the same time. Returns false if the known one stays. */
function replaceBy(known: Claim, incoming: Incoming): boolean {
  const isLatest = known.key === '$set' || known.key === '$unset';
  const order = isLatest
    ? incoming.micros - known.micros
    : known.micros - incoming.micros || known.place - incoming.place;
  if (order < 0) return false;
  known.tied = order > 0 ? null : { ...known };
  Object.assign(known, incoming);
  return true;
}

function* withTied(own: readonly Claim[]): Generator<Claim> {
  for (const each of own) for (let claim: Claim | null = each; claim !== null; claim = claim.tied) yield claim;
}
