import { haveSameKeys } from '../../../base/same-keys.ts';
import { isObject } from '../../../base/json.ts';
import { groupTypesIn } from '../../../batch/group-names.ts';
import { eventFlag, type ScannedBatch } from '../../../batch/scanned-batch.ts';
import { fieldFrom, fieldTo, flagsOf, plainText } from '../../../batch/spans.ts';
import { profileFlag, profileKeys } from '../../../batch/stored-properties.ts';
import { dayMicros } from '../../../batch/timestamps.ts';
import { otherIdOf, profileEvents, saysNothing } from '../../../contract/profile-events.ts';
import { identityProperty } from '../../../contract/wire-event.ts';
import type { RowBatch } from '../../../eventstore/eventstore.ts';
import { EventRowWriter } from '../../../eventstore/rows.ts';
import { runMark } from '../../checksum.ts';

/**
 * Reduces the events of one segment to what persons and groups learn from them: fewer rows of the same form, with the properties that
 * matter alone. The pipeline reads the facts of all segments in order of time and place, and ends with the same persons and groups as
 * after the events themselves. Why:
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
  /**
   * The same of an event in scanned JSON without `eventFlag.special`, whose id is a text without escapes and whose name is none of
   * contract/profile-events.ts that is kept whole. Its properties are not parsed.
   */
  addScanned(scan: ScannedBatch, index: number, micros: number, place: number): void;
  /** Rows of the facts since the last call. */
  take(): RowBatch;
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
  /** Its uuid and its name. */
  head: Buffer;
  isNobodys: boolean;
  /** One more event that is kept for the same reason: which of them counts is not known here. */
  tied: Claim | null;
}

/** The event that is looked at. */
interface Hand extends Pick<Claim, 'micros' | 'place' | 'isNobodys'> {
  /** Its uuid and name; undefined: they stand in the JSON. */
  texts: Pick<FactEvent, 'uuid' | 'event'> | undefined;
  json: Buffer;
  uuidFrom: number;
  nameFrom: number;
  nameTo: number;
}

/** Claims of an id that an event is compared with, the newest. */
const comparedMax = 32;
const uuidBytes = 36;
const openObject = 0x7b;
const openArray = 0x5b;
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

export function createFacts(of: { readonly projectId: number; readonly runId: string }): Facts {
  const rows = createFactRows(of);
  const hand = emptyHand();
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
      hold(hand, event, isNobodys);
      const own = claimsOf(event.distinctId);
      const say = (key: Key, type = ''): void => {
        const text = Buffer.from(JSON.stringify(properties[key]));
        claim(own, hand, { key, type }, text, 0, text.length);
      };
      for (const type of types) say('$groups', type);
      if (isNobodys) return;
      claimFirst(own, hand);
      if (saysNothing.has(event.event)) return;
      for (const key of profileKeys) {
        if (isObject(properties[key]) || (key === '$unset' && Array.isArray(properties[key]))) say(key);
      }
    },
    addScanned: (scan, index, micros, place) => {
      holdScanned(hand, scan, index, { micros, place });
      const own = claimsOf(contentAt(scan, index, 'distinctId'));
      claimFirst(own, hand);
      if ((flagsOf(scan, index) & eventFlag.dollarName) !== 0 && saysNothing.has(contentAt(scan, index, 'name')))
        return;
      for (const says of scannedKeys) {
        const from = fieldFrom(scan, index, says.field);
        if (from < 0 || !saysAnything(says.key, scan.json[from])) continue;
        claim(own, hand, says, scan.json, from, fieldTo(scan, index, says.field));
      }
    },
    take: () => {
      for (const [distinctId, own] of claims) rows.writeClaims(distinctId, own);
      claims = new Map();
      return rows.take();
    },
  };
}

function createFactRows({ projectId, runId }: { readonly projectId: number; readonly runId: string }) {
  const writer = new EventRowWriter();
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
    const [{ micros, place, head, isNobodys }] = of as readonly [Claim];
    const uuid = head.toString('latin1', 0, uuidBytes);
    write({ uuid, event: head.toString('utf8', uuidBytes), distinctId, micros, place }, membersOf(of, isNobodys));
  };
  /** One row for each event. Events of one record share a place only beyond the places that a record has. */
  const writeClaims = (distinctId: string, own: readonly Claim[]): void => {
    const byPlace = new Map<number, Claim[]>();
    for (const each of withTied(own)) {
      const same = byPlace.get(each.place);
      if (same === undefined) byPlace.set(each.place, [each]);
      else same.push(each);
    }
    for (const of of byPlace.values()) {
      const [{ head }] = of as unknown as readonly [Claim];
      if (of.every((each) => each.head.equals(head))) writeEvent(distinctId, of);
      else for (const some of Map.groupBy(of, (each) => each.head.toString()).values()) writeEvent(distinctId, some);
    }
  };
  return { write, writeClaims, take: () => writer.take() };
}

const scannedKeys = [
  { key: '$set', type: '', field: 'ownSet' },
  { key: '$set_once', type: '', field: 'ownSetOnce' },
  { key: '$unset', type: '', field: 'ownUnset' },
] as const;

/** Whether it is, or may be, more than one of many that say the same of one id. */
function isWhole({ event, properties }: FactEvent, isNobodys: boolean): boolean {
  if (!profileEvents.has(event)) return false;
  const otherId = otherIdOf.get(event);
  return isNobodys || otherId === undefined || Boolean(properties[otherId]);
}

function wholeMembers(properties: FactEvent['properties']): string[] {
  return wholeKeys.flatMap((key) => {
    const text = Object.hasOwn(properties, key) ? JSON.stringify(properties[key]) : undefined;
    return text === undefined ? [] : [`"${key}":${text}`];
  });
}

/** Of one event. Several types of groups stand in one property. */
function membersOf(claims: readonly Claim[], isNobodys: boolean): ReadonlySet<string> {
  const members = new Set<string>();
  if (isNobodys) members.add(`"${profileFlag}":false`);
  for (const { key, text } of claims) if (key !== 'first') members.add(`"${key}":${text.toString()}`);
  return members;
}

function emptyHand(): Hand {
  return {
    micros: 0,
    place: 0,
    isNobodys: false,
    texts: undefined,
    json: noText,
    uuidFrom: 0,
    nameFrom: 0,
    nameTo: 0,
  };
}

function hold(hand: Hand, event: FactEvent, isNobodys: boolean): void {
  hand.micros = event.micros;
  hand.place = event.place;
  hand.isNobodys = isNobodys;
  hand.texts = event;
}

function holdScanned(hand: Hand, scan: ScannedBatch, index: number, at: Pick<Claim, 'micros' | 'place'>): void {
  hand.micros = at.micros;
  hand.place = at.place;
  hand.isNobodys = false;
  hand.texts = undefined;
  hand.json = scan.json;
  hand.uuidFrom = fieldFrom(scan, index, 'uuid') + 1;
  hand.nameFrom = fieldFrom(scan, index, 'name') + 1;
  hand.nameTo = fieldTo(scan, index, 'name') - 1;
}

function saysAnything(key: Key, first: number | undefined): boolean {
  return first === openObject || (key === '$unset' && first === openArray);
}

/** Text of a field that has no escapes. */
function contentAt(scan: ScannedBatch, index: number, field: 'distinctId' | 'name'): string {
  return plainText(scan.json, fieldFrom(scan, index, field) + 1, fieldTo(scan, index, field) - 1);
}

function claimFirst(own: Claim[], hand: Hand): void {
  const known = own[0];
  if (known?.key === 'first') settle(known, hand);
  else own.unshift(newClaim(hand, { key: 'first', type: '' }, noText));
}

/** `json` at [from, to): the property. */
function claim(
  own: Claim[],
  hand: Hand,
  of: Pick<Claim, 'key' | 'type'>,
  json: Buffer,
  from: number,
  to: number,
): void {
  for (let at = own.length - 1; at >= Math.max(0, own.length - comparedMax); at--) {
    const known = own[at] as Claim;
    if (known.key !== of.key || known.type !== of.type) continue;
    const { text } = known;
    const isSame = text.length === to - from && json.compare(text, 0, text.length, from, to) === 0;
    if (!isSame && !isAlike(known, json, from, to)) continue;
    if (settle(known, hand) && !isSame) known.text = Buffer.from(json.subarray(from, to));
    return;
  }
  own.push(newClaim(hand, of, Buffer.from(json.subarray(from, to))));
}

function newClaim(hand: Hand, { key, type }: Pick<Claim, 'key' | 'type'>, text: Buffer): Claim {
  const { micros, place, isNobodys } = hand;
  return { key, type, text, micros, place, head: writeHead(hand, noText), isNobodys, tied: null };
}

/** Whether an event with that property does the same. The lists of `$unset` are compared as text alone. */
function isAlike({ key, text }: Claim, json: Buffer, from: number, to: number): boolean {
  if (key === '$unset') return false;
  return key === '$groups' || haveSameKeys({ json: text, from: 0, to: text.length }, { json, from, to });
}

/** Which of two events that do the same is kept, or whether both are. False: only the known one. */
function settle(known: Claim, hand: Hand): boolean {
  const isLatest = known.key === '$set' || known.key === '$unset';
  const order = isLatest ? hand.micros - known.micros : known.micros - hand.micros || known.place - hand.place;
  if (order < 0) return false;
  known.tied = order > 0 ? null : { ...known };
  known.head = writeHead(hand, order > 0 ? known.head : noText);
  known.micros = hand.micros;
  known.place = hand.place;
  known.isNobodys = hand.isNobodys;
  return true;
}

/** Into the memory of one that is not needed any more, if that has the same length: most have. */
function writeHead({ texts, json, uuidFrom, nameFrom, nameTo }: Hand, old: Buffer): Buffer {
  if (texts !== undefined) return Buffer.from(texts.uuid + texts.event);
  const length = uuidBytes + nameTo - nameFrom;
  const head = old.length === length ? old : Buffer.allocUnsafe(length);
  for (let at = 0; at < uuidBytes; at++) head[at] = json[uuidFrom + at] as number;
  for (let at = uuidBytes, from = nameFrom; at < length; at++, from++) head[at] = json[from] as number;
  return head;
}

function* withTied(own: readonly Claim[]): Generator<Claim> {
  for (const each of own) for (let claim: Claim | null = each; claim !== null; claim = claim.tied) yield claim;
}
