import { isObject } from '../../base/json.ts';
import { identityProperty, runProperty, type WireEvent } from '../../wire/contract/wire-event.ts';

/** Why an event is left out: a short phrase that it is counted under; undefined: it stays. */
export type Filter = (event: WireEvent) => string | undefined;

/** The event as it is imported, or why it is left out. The event that comes in is not changed. */
export type Change = (event: WireEvent) => WireEvent | string;

/** Links between ids and groups: no events of their own, but what makes persons of ids. */
const links: ReadonlySet<string> = new Set(['$identify', '$create_alias', '$merge_dangerously', '$groupidentify']);

/** What an import adds to every event: nothing that the event tells. */
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

/** Where properties stand beside the event's own: what is told of its person and its group. */
const nestedBags = ['$set', '$set_once', '$group_set'] as const;

/** The properties of an event, wherever they stand. */
export function propertyBags({ properties }: WireEvent): readonly Bag[] {
  return [properties, ...nestedBags.map((key) => properties[key]).filter(isObject)];
}

/** The event with its properties changed, wherever they stand; a function that changes nothing returns what it got. */
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
