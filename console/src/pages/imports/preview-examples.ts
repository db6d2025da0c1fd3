import type { Preview } from './imports-query.ts';

type PreviewRecord = Pick<Preview['results'][number], 'record' | 'events'>;

interface Example {
  readonly record: unknown;
  readonly event: Readonly<Record<string, unknown>>;
}

/** Returns the first record of each event name. */
export function examplesOf(records: readonly PreviewRecord[]): ReadonlyMap<string, Example> {
  const examples = new Map<string, Example>();
  for (const { record, events } of records) {
    for (const { event } of events) {
      if (event !== null && !examples.has(event.event)) examples.set(event.event, { record, event });
    }
  }
  return examples;
}

/** Returns the name of the first record's own event, which follows events that link its ids; `undefined` without events. */
export function firstEventName(records: readonly PreviewRecord[]): string | undefined {
  const first = records.find(({ events }) => events.some(({ event }) => event !== null));
  return first?.events.findLast(({ event }) => event !== null)?.event?.event;
}
