import { distinctIdCharsMax } from '../../wire/batch/limits.ts';
import { isObject } from '../../base/json.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { setMember, type Properties } from '../formats/read-values.ts';
import { isLonger, shorten } from './shorten.ts';
import { importMarks, isLink, type Change } from './step.ts';

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
