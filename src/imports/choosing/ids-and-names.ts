import { hash } from 'node:crypto';
import { isObject } from '../../base/json.ts';
import { distinctIdCharsMax, nameCharsMax } from '../../wire/batch/limits.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { importMarks, isLink, mapBags, propertyBags, type Bag, type Change } from './step.ts';

/** Properties besides distinct_id that name a person or a device. */
const personKeys = ['$anon_distinct_id', 'alias', '$device_id', '$user_id'] as const;
/** Only in links: any other event may have a property called `alias`. */
const linkKeys: ReadonlySet<string> = new Set(['$anon_distinct_id', 'alias']);

/** Returns an id with leading or trailing white space, or `undefined`. */
export function findPadded(event: WireEvent): string | undefined {
  return findPaddedId(event) ?? otherId(event, isPadded);
}

/**
 * Like `findPadded`, but only for ids that assign an event: its person, the other id of a link, its groups. Used for every event.
 */
export function findPaddedId(event: WireEvent): string | undefined {
  const { distinct_id: id, properties } = event;
  if (isPadded(id)) return id;
  if (isLink(event)) return paddedGroup(properties) ?? otherId(event, isPadded);
  return properties['$groups'] === undefined ? undefined : paddedGroup(properties);
}

function paddedGroup({ $groups: groups, $group_key: key }: WireEvent['properties']): string | undefined {
  if (isPadded(key)) return key;
  return isObject(groups) ? Object.values(groups).find(isPadded) : undefined;
}

/** Returns an id of a person that the store truncates, or `undefined`. */
export function findCutId(event: WireEvent): string | undefined {
  if (isLongId(event.distinct_id)) return event.distinct_id;
  return isLink(event) ? otherId(event, isLongId) : undefined;
}

/** Returns an id of a person or device that is longer than a distinct_id may be, or `undefined`. */
export function findLongId(event: WireEvent): string | undefined {
  return isLongId(event.distinct_id) ? event.distinct_id : otherId(event, isLongId);
}

export function trimIds(): Change {
  return (event) => {
    const trimmed = mapIds(event, (id) => id.trim());
    return withoutOwnLink({ ...trimmed, properties: trimGroups(trimmed.properties) });
  };
}

/** Excludes a link whose two ids became equal. Other properties that an `$identify` sets on its person stay. */
function withoutOwnLink(event: WireEvent): WireEvent | string {
  const { event: name, distinct_id: id, properties } = event;
  if (!isLink(event) || (properties['$anon_distinct_id'] ?? properties['alias']) !== id) return event;
  const { $anon_distinct_id: _, ...others } = properties;
  const hasMore = name === '$identify' && Object.keys(others).some((key) => !importMarks.has(key));
  return hasMore ? { ...event, properties: others } : 'link between two spellings of one id that differ in white space';
}

export function shortenIds(): Change {
  return (event) => mapIds(event, (id) => (isLongId(id) ? shorten(id, distinctIdCharsMax) : id));
}

/** Whether `trim` would change the id. */
function isPadded(id: unknown): id is string {
  if (typeof id !== 'string' || id === '') return false;
  return isSpace(id.charCodeAt(0)) || isSpace(id.charCodeAt(id.length - 1));
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || (unit >= 0x80 && String.fromCharCode(unit).trim() === '');
}

function isLongId(id: unknown): id is string {
  return typeof id === 'string' && isLonger(id, distinctIdCharsMax);
}

/** Returns the first matching id besides distinct_id. */
function otherId(event: WireEvent, matches: (id: unknown) => id is string): string | undefined {
  for (const key of personKeys) {
    const id = event.properties[key];
    if (id !== undefined && matches(id) && (!linkKeys.has(key) || isLink(event))) return id;
  }
  return undefined;
}

function mapIds(event: WireEvent, map: (id: string) => string): WireEvent {
  const properties: Properties = { ...event.properties };
  for (const key of personKeys) {
    const id = properties[key];
    if (typeof id === 'string' && (!linkKeys.has(key) || isLink(event))) properties[key] = map(id);
  }
  return { ...event, distinct_id: map(event.distinct_id), properties };
}

function trimGroups(properties: WireEvent['properties']): WireEvent['properties'] {
  const { $groups: groups, $group_key: key } = properties;
  if (!isObject(groups) && typeof key !== 'string') return properties;
  const trimmed: Properties = {};
  for (const [type, each] of Object.entries(isObject(groups) ? groups : {})) {
    setMember(trimmed, type, typeof each === 'string' ? each.trim() : each);
  }
  return {
    ...properties,
    ...(isObject(groups) && { $groups: trimmed }),
    ...(typeof key === 'string' && { $group_key: key.trim() }),
  };
}

/** Returns the name of an event that ingest would reject for its length; `undefined` otherwise. */
export function findLongName({ event }: WireEvent): string | undefined {
  return isLongName(event) ? event : undefined;
}

export function shortenName(): Change {
  return (event) => ({ ...event, event: shorten(event.event, nameCharsMax) });
}

/** Returns the first property name that is too long. */
export function findLongProperty(event: WireEvent): string | undefined {
  for (const bag of propertyBags(event)) {
    const found = Object.keys(bag).find(isLongName);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function shortenProperties(): Change {
  const change = (bag: Bag): Bag => {
    if (!Object.keys(bag).some(isLongName)) return bag;
    const shortened: Properties = {};
    for (const [name, value] of Object.entries(bag)) {
      setMember(shortened, isLongName(name) ? shorten(name, nameCharsMax) : name, value);
    }
    return shortened;
  };
  return (event) => mapBags(event, change);
}

/** Whether the name of an event or a property is too long. */
export function isLongName(name: string): boolean {
  return isLonger(name, nameCharsMax);
}

const hashChars = 16;

/** Whether a text has more characters (code points) than a limit. */
export function isLonger(text: string, charsMax: number): boolean {
  // A code point is one or two UTF-16 units.
  return text.length > charsMax && (text.length > charsMax * 2 || [...text].length > charsMax);
}

/**
 * Returns a text of exactly `charsMax` characters: its beginning and 64 bits of a hash of the whole, so that different texts stay
 * different.
 */
export function shorten(text: string, charsMax: number): string {
  const start = Array.from(text.slice(0, charsMax * 2))
    .slice(0, charsMax - hashChars - 1)
    .join('');
  return `${start}~${hash('sha256', text, 'hex').slice(0, hashChars)}`;
}
