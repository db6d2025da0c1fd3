import { Value } from 'typebox/value';
import { parseTimestamp } from '../../wire/batch/timestamps.ts';
import { importChoiceSchema, type ImportChoice } from '../../wire/contract/import-choice.ts';
import type { TimeRange } from '../source.ts';

/** A choice is invalid; the message names the place, what was expected and what came. */
export class ChoiceError extends Error {
  override name = 'ChoiceError';
}

/** Parses a choice from JSON. Returns `undefined` if it equals the default of importing everything. Throws ChoiceError. */
export function parseChoice(value: unknown): ImportChoice | undefined {
  if (!isChoice(value)) throw new ChoiceError(firstFault(value));
  refuseTimes(value.time);
  refuseTwoKeys(value.join);
  const { identity, ...others } = value;
  const choice = identity === undefined || identity === 'first_user' ? others : value;
  return Object.keys(choice).length === 0 ? undefined : choice;
}

function isChoice(value: unknown): value is ImportChoice {
  return Value.Check(importChoiceSchema, value);
}

function firstFault(value: unknown): string {
  const [fault] = Value.Errors(importChoiceSchema, value);
  const place = ['choose', ...(fault?.instancePath ?? '').split('/').slice(1)].join('.');
  // The keyword that JSON Schema reports for an unknown property.
  if (fault?.keyword === 'boolean') return `${place}: there is no such choice`;
  return `${place} ${fault?.message ?? 'is not a valid choice'}`;
}

function refuseTwoKeys(join: ImportChoice['join'] = []): void {
  const index = join.findIndex(({ column, first_column: isFirst }) => column !== undefined && isFirst === true);
  if (index >= 0) throw new ChoiceError(`choose.join.${index}: expected "column" or "first_column", got both`);
}

function refuseTimes(time: ImportChoice['time']): void {
  for (const end of ['from', 'to'] as const) {
    const text = time?.[end];
    if (text !== undefined && parseTimestamp(text) === undefined) {
      throw new ChoiceError(`choose.time.${end}: expected a time in ISO 8601 such as 2024-03-01T12:00:00Z`);
    }
  }
  const from = parseTimestamp(time?.from ?? '');
  const to = parseTimestamp(time?.to ?? '');
  if (from !== undefined && to !== undefined && from >= to) {
    throw new ChoiceError(`choose.time.to: expected a time after "from" (${time?.from ?? ''}), got ${time?.to ?? ''}`);
  }
}

/**
 * Returns the choice for a run with a time range. A source that supports ranges applies it to its own requests. Any other source
 * is read whole, and the range becomes part of the choice. Throws ChoiceError if the choice has a different range.
 */
export function withRange(
  { range: support }: { readonly range: string | undefined },
  choice: ImportChoice | undefined,
  range: TimeRange,
): ImportChoice | undefined {
  if (support !== undefined || (range.from ?? range.to) === undefined) return choice;
  if (choice?.time?.from === range.from && choice?.time?.to === range.to) return choice;
  if (choice?.time !== undefined) {
    throw new ChoiceError(
      'choose.time: expected no value together with "from" and "to" of the run, which mean the same here',
    );
  }
  return { ...choice, time: { ...range } };
}
