import type { WireEvent } from '../../contract/wire-event.ts';

/** The events of an example, each with what marks it as imported: said once, not in every event. */
export function importedEvents(slug: string, events: readonly WireEvent[]): WireEvent[] {
  const marks = { $geoip_disable: true, $import_source: slug };
  return events.map((event) => ({ ...event, properties: { ...event.properties, ...marks } }));
}
