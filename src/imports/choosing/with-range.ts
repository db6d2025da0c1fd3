import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { TimeRange } from '../source.ts';
import { ChoiceError } from './parse-choice.ts';

/**
 * A source that has times asks its own side for the range. Of one that has none everything is read, and the range is a choice of
 * events by their own time. Throws ChoiceError where the choice has another one.
 */
export function withRange(
  { range: means }: { readonly range: string | undefined },
  choice: ImportChoice | undefined,
  range: TimeRange,
): ImportChoice | undefined {
  if (means !== undefined || (range.from ?? range.to) === undefined) return choice;
  if (choice?.time?.from === range.from && choice?.time?.to === range.to) return choice;
  if (choice?.time !== undefined) {
    throw new ChoiceError('choose.time: expected none beside "from" and "to" of the run, which mean the same here');
  }
  return { ...choice, time: { ...range } };
}
