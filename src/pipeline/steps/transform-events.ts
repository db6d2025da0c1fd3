import { isoOfMicros } from '../../base/clock.ts';
import { isStorableTime } from '../../wire/batch/event-time.ts';
import { storedId } from '../../wire/batch/stored-id.ts';
import { parseTimestamp } from '../../wire/batch/timestamps.ts';
import { ChainEvent } from '../transform/chain-event.ts';
import type { EventDraft } from '../event-draft.ts';
import { state, type OpenRecord } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';
import { drop, type Outcome } from '../outcome.ts';
import { unread } from '../read-event.ts';

/** Session recordings bypass transformations. */
const bypassing = '$snapshot';

/** Queues the events for the project's transformations, and runs these unless they are asynchronous. */
export function transformEvents({ chains, queue, live }: Pick<StepDeps, 'chains' | 'queue' | 'live'>): Step {
  return ({ context, states, drafts }) => {
    const { projectId, receivedAt } = context;
    let passing = 0;
    if (!chains.has(projectId)) for (const at of states) passing += at === state.ended ? 0 : 1;
    else {
      const isWatched = live.isWatched(projectId);
      for (const draft of drafts) {
        if (states[draft.index] !== state.draft) continue;
        if (draft.event === bypassing) passing += 1;
        else queue.add(projectId, (draft.inChain = intoChain(draft, receivedAt)));
        if (isWatched && draft.inChain !== null) live.entered(draft, draft.inChain);
      }
      queue.runNow(projectId);
    }
    chains.skip(projectId, passing);
  };
}

/** @param receivedAt ms */
function intoChain(draft: EventDraft, receivedAt: number): ChainEvent {
  const { uuid, event, distinctId, projectId: teamId } = draft;
  const timestamp = isoOfMicros(draft.micros);
  const properties = draft.properties === unread ? null : draft.properties;
  return new ChainEvent({ uuid, event, distinctId, teamId, timestamp, receivedAt }, properties, draft.propertiesText);
}

/** Takes the transformed events back into their drafts. */
export function takeTransformed({ live }: Pick<StepDeps, 'live'>) {
  return (draft: EventDraft, { context }: OpenRecord): Outcome => {
    const event = draft.inChain;
    if (event === null) return undefined;
    draft.inChain = null;
    const isWatched = live.isWatched(draft.projectId);
    if (isWatched) live.left(draft, event);
    const outcome = takeResult(draft, event);
    if (isWatched && outcome === undefined) live.transformed(draft, context);
    return outcome;
  };
}

/** Copies the result of the transformations into the draft. The time used in its identity never changes. */
function takeResult(draft: EventDraft, event: ChainEvent): Outcome {
  if (event.droppedBy !== undefined) {
    return drop('event_dropped_by_transformation', `dropped by ${event.droppedBy.label}`);
  }
  const { head } = event;
  const { properties, text } = event.result();
  draft.uuid = head.uuid;
  draft.event = head.event;
  draft.distinctId = storedId(head.distinctId);
  draft.properties = properties;
  draft.propertiesText = text;
  if (head.timestamp !== event.source.timestamp) {
    const micros = parseTimestamp(head.timestamp) ?? Date.parse(head.timestamp) * 1000;
    if (isStorableTime(micros)) draft.micros = micros;
  }
  return undefined;
}
