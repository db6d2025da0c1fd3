import { hash } from 'node:crypto';
import { isObject } from '../../base/json.ts';
import { distinctIdCharsMax, nameCharsMax } from '../../wire/batch/limits.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { importMarks, isLink, mapBags, propertyBags, type Bag, type Change } from './step.ts';

/** Properties that name a person or a device, beside distinct_id. */
const personKeys = ['$anon_distinct_id', 'alias', '$device_id', '$user_id'] as const;
/** Of links only: anybody's event may have a property called `alias`. */
const linkKeys: ReadonlySet<string> = new Set(['$anon_distinct_id', 'alias']);

/** An id that has white space at an end; undefined: none has. */
export function findPadded(event: WireEvent): string | undefined {
  return findPaddedId(event) ?? idBeside(event, isPadded);
}

/** As `findPadded`, of ids that say whom an event belongs to: its person, the other id of a link, its groups. For every event. */
export function findPaddedId(event: WireEvent): string | undefined {
  const { distinct_id: id, properties } = event;
  if (isPadded(id)) return id;
  if (isLink(event)) return paddedGroup(properties) ?? idBeside(event, isPadded);
  return properties['$groups'] === undefined ? undefined : paddedGroup(properties);
}

function paddedGroup({ $groups: groups, $group_key: key }: WireEvent['properties']): string | undefined {
  if (isPadded(key)) return key;
  return isObject(groups) ? Object.values(groups).find(isPadded) : undefined;
}

/** An id of a person that the store cuts; undefined: none. */
export function findCutId(event: WireEvent): string | undefined {
  if (isLongId(event.distinct_id)) return event.distinct_id;
  return isLink(event) ? idBeside(event, isLongId) : undefined;
}

/** An id of a person or a device that is too long to be one's distinct_id; undefined: none. */
export function findLongId(event: WireEvent): string | undefined {
  return isLongId(event.distinct_id) ? event.distinct_id : idBeside(event, isLongId);
}

export function trimIds(): Change {
  return (event) => {
    const trimmed = mapIds(event, (id) => id.trim());
    return withoutOwnLink({ ...trimmed, properties: trimGroups(trimmed.properties) });
  };
}

/** A link whose two ids are one now says nothing; what an `$identify` tells of its person beside that stays. */
function withoutOwnLink(event: WireEvent): WireEvent | string {
  const { event: name, distinct_id: id, properties } = event;
  if (!isLink(event) || (properties['$anon_distinct_id'] ?? properties['alias']) !== id) return event;
  const { $anon_distinct_id: _, ...others } = properties;
  const tells = name === '$identify' && Object.keys(others).some((key) => !importMarks.has(key));
  return tells ? { ...event, properties: others } : 'link of an id with itself, but for white space';
}

export function shortenIds(): Change {
  return (event) => mapIds(event, (id) => (isLongId(id) ? shorten(id, distinctIdCharsMax) : id));
}

/** `trim` would take something off. */
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

/** The first id beside distinct_id that is so. */
function idBeside(event: WireEvent, isSo: (id: unknown) => id is string): string | undefined {
  for (const key of personKeys) {
    const id = event.properties[key];
    if (id !== undefined && isSo(id) && (!linkKeys.has(key) || isLink(event))) return id;
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

/** The name of an event that the door refuses for its length; undefined: it does not. */
export function findLongName({ event }: WireEvent): string | undefined {
  return isLongName(event) ? event : undefined;
}

export function shortenName(): Change {
  return (event) => ({ ...event, event: shorten(event.event, nameCharsMax) });
}

/** The longest is not looked for: the first that is too long. */
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

/** Of an event or a property. */
export function isLongName(name: string): boolean {
  return isLonger(name, nameCharsMax);
}

const hashChars = 16;

/** Whether a text has more characters (whole ones) than a limit. */
export function isLonger(text: string, charsMax: number): boolean {
  // A character is one or two units.
  return text.length > charsMax && (text.length > charsMax * 2 || [...text].length > charsMax);
}

/** A text of exactly so many characters: the beginning, and 64 bits of a hash of the whole, so that different ones stay different. */
export function shorten(text: string, charsMax: number): string {
  const start = Array.from(text.slice(0, charsMax * 2))
    .slice(0, charsMax - hashChars - 1)
    .join('');
  return `${start}~${hash('sha256', text, 'hex').slice(0, hashChars)}`;
}
