import { assert } from '../../base/assert.ts';
import { dayMicros } from '../../wire/batch/timestamps.ts';
import type { EventRow } from '../../stores/events/rows.ts';
import { runOfObject } from '../../stores/events/run-marker.ts';
import { storedText, type EventDraft, type RecordContext } from '../event-draft.ts';
import { draftsInOrder, state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';
import { failure } from '../outcome.ts';
import { unread } from '../read-event.ts';

/** Writes the rows, in the order of the events. */
export function writeRows({ rows, results }: Pick<StepDeps, 'rows' | 'results'>): Step {
  return (record) => {
    const { states, splicer, context } = record;
    const draftOf = draftsInOrder(record);
    let stored = 0;
    for (let index = 0; index < states.length; index++) {
      switch (states[index]) {
        case state.row:
        case state.spliced:
          splicer.write(rows.next(), index);
          stored += 1;
          break;
        case state.draft:
          try {
            rows.next().write(rowOf(context, draftOf(index)));
            stored += 1;
          } catch (error) {
            results.end(record, index, failure(error));
          }
          break;
        default:
          assert(states[index] === state.ended, `event ${index} to have been spliced or read`);
      }
    }
    results.stored(stored);
  };
}

function rowOf(context: RecordContext, draft: EventDraft): EventRow {
  const historical = context.lane === 'historical';
  return {
    projectId: context.projectId,
    historical,
    receivedAtMicros: context.receivedAt * 1000,
    timestampMicros: draft.micros,
    keyDay: Math.floor(draft.keyMicros / dayMicros),
    uuid: draft.uuid,
    event: draft.event,
    distinctId: draft.distinctId,
    properties: storedText(draft),
    importRun: historical && draft.properties !== unread ? runOfObject(draft.properties) : undefined,
  };
}
