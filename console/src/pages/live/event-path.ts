import type { LiveEvent, LiveSnapshot } from '../../../../src/wire/contract/live-events.ts';
import { liveStages } from './live-stages.ts';

/** One part of an event's path: a stage, or a transformation between two stages. */
export type PathPart =
  | { readonly kind: 'stage'; readonly seen: LiveEvent }
  | {
      readonly kind: 'step';
      readonly step: NonNullable<LiveEvent['steps']>[number];
      readonly before: LiveSnapshot | null;
    };

/**
 * Returns the path of an event through the pipeline, as far as it was seen: its stages in order, with the transformations before the
 * first stage that reports them.
 */
export function pathOf(chosen: LiveEvent, seen: readonly LiveEvent[]): PathPart[] {
  const stages = [chosen, ...seen.filter((each) => each !== chosen && isSame(each, chosen))];
  const ordered = liveStages.flatMap((stage) => {
    const found = stages.find((each) => each.stage === stage);
    return found === undefined ? [] : [found];
  });
  const withSteps = ordered.find(({ steps }) => steps !== null && steps.length > 0);
  const parts: PathPart[] = [];
  for (const each of ordered) {
    if (each === withSteps) parts.push(...stepsOf(each));
    parts.push({ kind: 'stage', seen: each });
  }
  return parts;
}

/** Compares by UUID. Events without one get it when stored; until then, time and sender identify them. */
function isSame(left: LiveEvent, right: LiveEvent): boolean {
  if (left.uuid !== null && right.uuid !== null) return left.uuid === right.uuid;
  return (
    left.received_at === right.received_at &&
    left.distinct_id === right.distinct_id &&
    left.event === right.event &&
    left.timestamp === right.timestamp
  );
}

function stepsOf({ before, steps }: LiveEvent): PathPart[] {
  let latest: LiveSnapshot | null = before;
  return (steps ?? []).map((step) => {
    const part: PathPart = { kind: 'step', step, before: latest };
    latest = step.after ?? latest;
    return part;
  });
}
