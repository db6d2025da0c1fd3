import type { SandboxEvent } from '../sandbox.ts';

/**
 * Events on their way into an isolate, as one string: a line of JSON that describes each, then the JSON texts of their properties,
 * one after the other. Lengths count UTF-16 units.
 */
export interface EventsHead {
  readonly markers: readonly (readonly [succeeded: readonly string[], failed: readonly string[]])[];
  readonly events: readonly HeadEvent[];
}

export type HeadEvent = readonly [
  uuid: string,
  event: string,
  distinctId: string,
  teamId: number,
  timestamp: string,
  receivedAt: number,
  /** Index in `markers`; -1 means none. */
  markers: number,
  propertiesLength: number,
];

export function encodeEvents(events: readonly SandboxEvent[]): string {
  const markers: EventsHead['markers'][number][] = [];
  let last: Markers | null = null;
  let texts = '';
  const heads = events.map((event): HeadEvent => {
    // Consecutive events mostly have the same ones.
    if (event.markers !== null && (last === null || !areSame(event.markers, last))) {
      markers.push([event.markers.succeeded, event.markers.failed]);
      last = event.markers;
    }
    const marker = event.markers === null ? -1 : markers.length - 1;
    const { uuid, event: name, distinctId, teamId, timestamp, receivedAt, propertiesText } = event;
    texts += propertiesText;
    return [uuid, name, distinctId, teamId, timestamp, receivedAt, marker, propertiesText.length];
  });
  return `${JSON.stringify({ markers, events: heads } satisfies EventsHead)}\n${texts}`;
}

type Markers = NonNullable<SandboxEvent['markers']>;

function areSame(one: Markers, other: Markers): boolean {
  if (one === other) return true;
  const { length } = one.succeeded;
  if (length !== other.succeeded.length || one.failed.length !== other.failed.length) return false;
  return (
    one.succeeded.every((label, index) => label === other.succeeded[index]) &&
    one.failed.every((label, index) => label === other.failed[index])
  );
}
