import { isJsonObject, type JsonObject } from '../../components/json-value.ts';
import { withoutMarks } from '../../components/plugin-marks.ts';
import { parseExact } from '../../api/exact-json.ts';

const fields = ['uuid', 'event', 'distinct_id', 'timestamp', 'properties'] as const;

/** Where somebody who types an event begins. */
export const firstEvent = textOfEvent({
  event: '$pageview',
  distinct_id: 'ann',
  properties: { $current_url: 'https://example.com/pricing?utm_source=mail', plan: 'pro' },
});

/** An event as clients send it, as text to edit; fields of other kinds stay out. */
export function textOfEvent(event: JsonObject): string {
  const id = event['uuid'] ?? event['id'];
  const known = { ...event, ...(id === undefined || id === null ? {} : { uuid: id }) } as JsonObject;
  const kept = fields.flatMap((name) =>
    known[name] === undefined || known[name] === null ? [] : [[name, known[name]]],
  );
  return JSON.stringify(Object.fromEntries(kept), null, 2);
}

/** The event that was typed, or why there is none. */
export function readEvent(text: string): { readonly event: JsonObject } | { readonly problem: string } {
  try {
    const event = parseExact(text);
    if (!isJsonObject(event))
      return { problem: 'Expected a JSON object: {"event": …, "distinct_id": …, "properties": {…}}.' };
    return { event };
  } catch (error) {
    return { problem: `Expected JSON: ${error instanceof Error ? error.message : 'it cannot be read'}` };
  }
}

/** An event without the marks of what it went through. */
export function unmarked<Event extends { readonly properties: JsonObject }>(event: Event): Event {
  return { ...event, properties: withoutMarks(event.properties) };
}
