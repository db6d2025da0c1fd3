import type { WireEvent } from '../../src/wire/contract/wire-event.ts';
import type {
  CodeOutcome,
  HandedEvent,
  OpenTransform,
  Transform,
  TransformOutcome,
} from '../../src/imports/transform.ts';

type Change = (event: WireEvent) => TransformOutcome;

/** Code that stands for the sandbox where that does not fail on request: a function, a new one for every piece. */
export function transformOf(create: () => Change, more: Partial<OpenTransform> = {}): Transform {
  return {
    name: 'T',
    projectId: 1,
    receivedAt: 0,
    open: async () => {
      const change = create();
      const run = async (events: readonly HandedEvent[]) => events.map((event) => outcomeOf(event, change));
      return { refused: new Set(), run, close: async () => undefined, ...more };
    },
  };
}

function outcomeOf({ uuid, event, distinctId, timestamp, propertiesText }: HandedEvent, change: Change): CodeOutcome {
  const properties = JSON.parse(propertiesText) as WireEvent['properties'];
  const outcome = change({ uuid, event, distinct_id: distinctId, timestamp, properties });
  if (outcome.kind !== 'kept') return outcome;
  const { event: kept } = outcome;
  const text = JSON.stringify(kept.properties);
  const own = { uuid: kept.uuid, event: kept.event, distinctId: kept.distinct_id, timestamp: kept.timestamp };
  return { kind: 'changed', ...own, propertiesText: text, movedTeam: false };
}
