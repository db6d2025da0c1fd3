import { isJsonObject, type JsonObject } from '../../components/json-value.ts';
import { withoutMarks } from '../../components/plugin-marks.ts';
import { parseExact } from '../../api/exact-json.ts';

const fields = ['uuid', 'event', 'distinct_id', 'timestamp', 'properties'] as const;

/** Initial event of the editor. */
export const exampleEvent = textOfEvent({
  event: '$pageview',
  distinct_id: 'ann',
  properties: { $current_url: 'https://example.com/pricing?utm_source=mail', plan: 'pro' },
});

/** Formats an event the way clients send it, for editing. Other fields are omitted. */
export function textOfEvent(event: JsonObject): string {
  const id = event['uuid'] ?? event['id'];
  const known = { ...event, ...(id === undefined || id === null ? {} : { uuid: id }) } as JsonObject;
  const kept = fields.flatMap((name) =>
    known[name] === undefined || known[name] === null ? [] : [[name, known[name]]],
  );
  return JSON.stringify(Object.fromEntries(kept), null, 2);
}

/** Parses a typed event, or returns the reason why it is invalid. */
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

/** Removes the properties that record which transformations ran. */
export function unmarked<Event extends { readonly properties: JsonObject }>(event: Event): Event {
  return { ...event, properties: withoutMarks(event.properties) };
}
