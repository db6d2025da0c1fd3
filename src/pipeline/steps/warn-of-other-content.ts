import { canonicalUuid } from '../../base/uuids.ts';
import { fieldFrom, fieldTo, stringAt } from '../../wire/batch/spans.ts';
import { findRun } from '../../stores/events/run-marker.ts';
import { state } from '../open-record.ts';
import { createRecentContents } from '../recent-contents.ts';
import type { Step, StepDeps } from '../step.ts';

/**
 * Warns when an event is sent again with other content. The store silently keeps the first one, so a client that corrects an event by
 * sending it again would not notice. Events of imports are compared by check and verify.
 */
export function warnOfOtherContent({ results }: Pick<StepDeps, 'results'>): Step {
  const recent = createRecentContents();
  return ({ context, scan, states }) => {
    const { json } = scan;
    for (let index = 0; index < states.length; index++) {
      if (states[index] === state.ended) continue;
      const properties = fieldFrom(scan, index, 'properties');
      const isImported =
        context.lane === 'historical' &&
        properties >= 0 &&
        findRun(json, properties, fieldTo(scan, index, 'properties'), false) !== '';
      if (isImported || !recent.isOther(context.projectId, scan, index)) continue;
      const given = stringAt(json, fieldFrom(scan, index, 'uuid'), fieldTo(scan, index, 'uuid'));
      const eventUuid = canonicalUuid(given) ?? given;
      results.warn(context, [{ type: 'sent_again_with_other_content', details: { eventUuid } }]);
    }
  };
}
