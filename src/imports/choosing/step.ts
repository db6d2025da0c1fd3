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
