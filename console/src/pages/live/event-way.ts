import type { LiveEvent, LiveSnapshot } from '../../../../src/wire/contract/live-events.ts';
import { liveStages } from './live-stages.ts';

/** One place on the way of an event: the stage it was seen at, or a transformation between two stages. */
export type WayPart =
  | { readonly kind: 'stage'; readonly seen: LiveEvent }
  | {
      readonly kind: 'step';
      readonly step: NonNullable<LiveEvent['steps']>[number];
      readonly before: LiveSnapshot | null;
    };

/**
 * The way of an event through the pipeline, as far as it was seen: its stages in order, and before the stage that follows them
 * what each transformation made of it.
 */
export function wayOf(chosen: LiveEvent, seen: readonly LiveEvent[]): WayPart[] {
  const stages = [chosen, ...seen.filter((each) => each !== chosen && isSame(each, chosen))];
  const ordered = liveStages.flatMap((stage) => {
    const found = stages.find((each) => each.stage === stage);
    return found === undefined ? [] : [found];
  });
  const told = ordered.find(({ steps }) => steps !== null && steps.length > 0);
  const parts: WayPart[] = [];
  for (const each of ordered) {
    if (each === told) parts.push(...stepsOf(each));
    parts.push({ kind: 'stage', seen: each });
  }
  return parts;
}

/** By uuid; what came without one gets it when it is stored, so before that only the moment and the sender tell. */
function isSame(left: LiveEvent, right: LiveEvent): boolean {
  if (left.uuid !== null && right.uuid !== null) return left.uuid === right.uuid;
  return (
    left.received_at === right.received_at &&
    left.distinct_id === right.distinct_id &&
    left.event === right.event &&
    left.timestamp === right.timestamp
  );
}

function stepsOf({ before, steps }: LiveEvent): WayPart[] {
  let latest: LiveSnapshot | null = before;
  return (steps ?? []).map((step) => {
    const part: WayPart = { kind: 'step', step, before: latest };
    latest = step.after ?? latest;
    return part;
  });
}
