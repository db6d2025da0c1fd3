import { isObject } from '../../base/json.ts';
import { identityProperty, runProperty, type WireEvent } from '../../wire/contract/wire-event.ts';

/** Returns why an event is excluded, as a short phrase under which it is counted; `undefined` keeps the event. */
export type Filter = (event: WireEvent) => string | undefined;

/** Returns the event as it is imported, or why it is excluded. Never modifies its argument. */
export type Change = (event: WireEvent) => WireEvent | string;

/** Events that link ids and groups to persons rather than describe an action. */
const links: ReadonlySet<string> = new Set(['$identify', '$create_alias', '$merge_dangerously', '$groupidentify']);

/** Properties that an import adds to every event. */
export const importMarks: ReadonlySet<string> = new Set([
  '$geoip_disable',
  '$import_source',
  runProperty,
  identityProperty,
]);

export function isLink({ event }: WireEvent): boolean {
  return links.has(event);
}

export type Bag = Readonly<Record<string, unknown>>;

/** Members that hold properties of the event's person and group. */
const nestedBags = ['$set', '$set_once', '$group_set'] as const;

/** Returns all objects of an event that hold properties. */
export function propertyBags({ properties }: WireEvent): readonly Bag[] {
  return [properties, ...nestedBags.map((key) => properties[key]).filter(isObject)];
}

/** Applies a change to all objects that hold properties. Returns the same event if nothing changed. */
export function mapBags(event: WireEvent, change: (bag: Bag) => Bag): WireEvent {
  const own = change(event.properties);
  const changed = nestedBags.flatMap((key) => {
    const bag = own[key];
    const mapped = isObject(bag) ? change(bag) : bag;
    return mapped === bag ? [] : [[key, mapped] as const];
  });
  if (changed.length === 0) return own === event.properties ? event : { ...event, properties: own };
  return { ...event, properties: { ...own, ...Object.fromEntries(changed) } };
}
