import { isSkewReported } from '../../wire/batch/event-time.ts';
import { fieldFrom, fieldTo, stringAt } from '../../wire/batch/spans.ts';
import { state } from '../open-record.ts';
import type { Step, StepDeps } from '../step.ts';

/** Warns about clock skew of events that are copied as bytes; readEvent does so for the others. */
export function warnOfSkew({ results }: Pick<StepDeps, 'results'>): Step {
  return ({ context, scan, states, splicer }) => {
    if (context.lane !== 'live' || !isSkewReported(context)) return;
    for (let index = 0; index < states.length; index++) {
      if (states[index] !== state.spliced && states[index] !== state.row) continue;
      const textOf = (field: 'uuid' | 'timestamp'): string =>
        stringAt(scan.json, fieldFrom(scan, index, field), fieldTo(scan, index, field));
      const details = {
        eventUuid: textOf('uuid').toLowerCase(),
        distinctId: splicer.distinctId(index),
        timestamp: textOf('timestamp'),
      };
      results.warn(context, [{ type: 'clock_skew_corrected', details }]);
    }
  };
}
