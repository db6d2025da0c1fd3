import { fieldFrom, fieldTo, stringAt } from '../../wire/batch/spans.ts';
import type { EventDraft } from '../event-draft.ts';
import { state } from '../open-record.ts';
import { drop, type Drop, type Outcome } from '../outcome.ts';
import type { Step, StepDeps } from '../step.ts';

/** Drops events of ids that the project keeps out after their erasure. The warning does not contain the id. */
export function dropKeptOut({ keptOut }: Pick<StepDeps, 'keptOut'>) {
  return ({ projectId, event, distinctId, properties, uuid }: EventDraft): Outcome => {
    const list = keptOut.of(projectId);
    return list?.concerns(event, distinctId, properties) === true ? dropOf(uuid) : undefined;
  };
}

/** Does the same for events whose properties are not read: they link no other id. */
export function dropSplicedKeptOut({ keptOut, results }: Pick<StepDeps, 'keptOut' | 'results'>): Step {
  return (record) => {
    const { context, states, scan, splicer } = record;
    const list = context.rowsStored === undefined ? keptOut.of(context.projectId) : undefined;
    if (list === undefined) return;
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.spliced || !list.has(splicer.distinctId(index))) continue;
      const uuid = stringAt(scan.json, fieldFrom(scan, index, 'uuid'), fieldTo(scan, index, 'uuid')).toLowerCase();
      results.end(record, index, dropOf(uuid));
    }
  };
}

function dropOf(eventUuid: string): Drop {
  return drop('id_kept_out', 'an id of the event was erased and is kept out', { eventUuid });
}
