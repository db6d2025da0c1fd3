import { haveSameKeys, type JsonSpan } from '../../../../base/same-keys.ts';
import { isObject } from '../../../../base/json.ts';
import { groupTypesIn } from '../../../../wire/batch/group-names.ts';
import { profileFlag, profileKeys } from '../../../../wire/batch/stored-properties.ts';
import { dayMicros } from '../../../../wire/batch/timestamps.ts';
import { otherIdOf, profileEvents, saysNothing } from '../../../../wire/contract/profile-events.ts';
import { identityProperty } from '../../../../wire/contract/wire-event.ts';
import type { EventRowWriter } from '../../../../stores/events/rows.ts';
import { runMark } from '../../../checksum.ts';

export interface FactsOf {
  readonly projectId: number;
  readonly runId: string;
}

/**
 * Reduces the events of one segment to what persons and groups learn from them: fewer rows of the same form, with the properties that
 * matter alone. The pipeline reads the facts of all segments, those of ids that merges name together in order of time and place, and ends
 * with the same persons and groups as after the events themselves. Why:
 *
 * - Events that merge persons or are about a group, or are refused for it, are all kept, whole. So every merge is decided as before: that
 *   depends on which ids have persons, how many, and who is identified, never on properties.
 * - Of the other events of an id the first makes its person, and sets the time at which the person was created. A later one finds
 *   both done.
 * - `$set_once` keeps the earliest value of a key, an empty one only until there is another. Of events with the same keys, empty at
 *   the same places, the first leaves nothing to the others. The same holds of `$groups`: a type gets its number from the first event
 *   that names it.
 * - `$set` and `$unset` keep the latest value of a key. Of events with the same keys the latest overwrites what the others wrote, in their
 *   person or in the one that it has been merged into.
 *
 * Of `$set` and `$unset` at the same time all are kept: the order of arrival decides, also between segments. Where segments repeat an
 * event, with its time and properties, the facts have it once, as the rows do. Where it is a fact of one segment alone, since the other
 * has one that stands in for it, it changes nothing: that one comes earlier where the first counts, and has a later time where the
 * latest counts.
 *
 * All this looks at the events of one id alone. So where rows of one identity differ, and facts may come from a copy that is not stored,
 * the stored rows of their ids are to be read in place of the facts of these ids.
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
  /** µs since the epoch. */
  readonly micros: number;
  /** Where its row stands in the source: its `received_at`, µs. */
  readonly place: number;
  /** Numbers as `parseExactValues` reads them: every digit of them becomes part of the facts. */
  readonly properties: Readonly<Record<string, unknown>>;
}

type Key = (typeof profileKeys)[number] | '$groups' | 'first';

/** An event that is kept, and why. */
interface Claim {
  /** The property that is kept of it; `first`: none, it is the first of its id. */
  readonly key: Key;
  /** Of `$groups`: the type that it is the first to name. */
  readonly type: string;
  /** JSON of the property. */
  text: Buffer;
  micros: number;
  place: number;
  uuid: string;
  event: string;
  isNobodys: boolean;
  /** One more event that is kept for the same reason: which of them counts is not known here. */
  tied: Claim | null;
}

/** The event that is looked at. */
interface Hand extends Pick<Claim, 'micros' | 'place' | 'isNobodys'> {
  readonly uuid: string;
  readonly event: string;
}

/** Claims of an id that an event is compared with, the newest. */
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

/** `writer`: gets the facts. */
export function createFacts(of: FactsOf, writer: EventRowWriter): Facts {
  const rows = createFactRows(of, writer);
  /** By id. */
  let claims = new Map<string, Claim[]>();
  const claimsOf = (distinctId: string): Claim[] => {
    let own = claims.get(distinctId);
    if (own === undefined) claims.set(distinctId, (own = []));
    return own;
  };

  return {
    add: (event) => {
      const { properties } = event;
      const isNobodys = Object.hasOwn(properties, profileFlag) && properties[profileFlag] === false;
      if (isWhole(event, isNobodys)) return rows.write(event, wholeMembers(properties));
      const types = groupTypesIn(Object.hasOwn(properties, '$groups') ? properties['$groups'] : undefined);
      if (isNobodys && types.length === 0) return;
      const { uuid, event: name, micros, place } = event;
      const hand = { uuid, event: name, micros, place, isNobodys };
      const own = claimsOf(event.distinctId);
      const say = (key: Key, type = ''): void => {
        claim(own, hand, { key, type }, Buffer.from(JSON.stringify(properties[key])));
      };
      for (const type of types) say('$groups', type);
      if (isNobodys) return;
      claimFirst(own, hand);
      if (saysNothing.has(event.event)) return;
      for (const key of profileKeys) {
        if (isObject(properties[key]) || (key === '$unset' && Array.isArray(properties[key]))) say(key);
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
    const [{ uuid, event, micros, place, isNobodys }] = of as readonly [Claim];
    write({ uuid, event, distinctId, micros, place }, membersOf(of, isNobodys));
  };
  /** One row for each event. Events of one record share a place only beyond the places that a record has. */
  const writeClaims = (distinctId: string, own: readonly Claim[]): void => {
    const byEvent = Map.groupBy(withTied(own), ({ place, uuid, event }) => `${place} ${uuid}${event}`);
    for (const of of byEvent.values()) writeEvent(distinctId, of);
  };
  return { write, writeClaims };
}

/** Whether it is, or may be, more than one of many that say the same of one id. */
function isWhole({ event, properties }: FactEvent, isNobodys: boolean): boolean {
  if (!profileEvents.has(event)) return false;
  const otherId = otherIdOf.get(event);
  return isNobodys || otherId === undefined || Boolean(properties[otherId]);
}

function wholeMembers(properties: FactEvent['properties']): string[] {
  return wholeKeys.flatMap((key) => {
    const text = Object.hasOwn(properties, key) ? JSON.stringify(properties[key]) : undefined;
    return text === undefined ? [] : [`"${key}":${text.toString()}`];
  });
}

/** Of one event. Several types of groups stand in one property. */
function membersOf(claims: readonly Claim[], isNobodys: boolean): ReadonlySet<string> {
  const members = new Set<string>();
  if (isNobodys) members.add(`"${profileFlag}":false`);
  for (const { key, text } of claims) if (key !== 'first') members.add(`"${key}":${text.toString()}`);
  return members;
}

function claimFirst(own: Claim[], hand: Hand): void {
  const known = own[0];
  if (known?.key === 'first') settle(known, hand);
  else own.unshift(newClaim(hand, { key: 'first', type: '' }, noText));
}

/** `text`: JSON of the property. */
function claim(own: Claim[], hand: Hand, of: Pick<Claim, 'key' | 'type'>, text: Buffer): void {
  for (let at = own.length - 1; at >= Math.max(0, own.length - comparedMax); at--) {
    const known = own[at] as Claim;
    if (known.key !== of.key || known.type !== of.type || !isAlike(known, text)) continue;
    if (settle(known, hand)) known.text = text;
    return;
  }
  own.push(newClaim(hand, of, text));
}

function newClaim(hand: Hand, { key, type }: Pick<Claim, 'key' | 'type'>, text: Buffer): Claim {
  return { key, type, text, ...hand, tied: null };
}

/** Whether an event with that property does the same. The lists of `$unset` are compared as text alone. */
function isAlike({ key, text }: Claim, other: Buffer): boolean {
  if (text.equals(other) || key === '$groups') return true;
  return key !== '$unset' && haveSameKeys(spanOf(text), spanOf(other));
}

function spanOf(json: Buffer): JsonSpan {
  return { json, from: 0, to: json.length };
}

/** Which of two events that do the same is kept, or whether both are. False: only the known one. */
function settle(known: Claim, hand: Hand): boolean {
  const isLatest = known.key === '$set' || known.key === '$unset';
  const order = isLatest ? hand.micros - known.micros : known.micros - hand.micros || known.place - hand.place;
  if (order < 0) return false;
  known.tied = order > 0 ? null : { ...known };
  Object.assign(known, hand);
  return true;
}

function* withTied(own: readonly Claim[]): Generator<Claim> {
  for (const each of own) for (let claim: Claim | null = each; claim !== null; claim = claim.tied) yield claim;
}
