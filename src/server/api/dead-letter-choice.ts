import type { DeadLetterChoice, DeadLetterRecord } from '../../wire/contract/dead-letters.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import type { DeadLetterFilter, ListedDeadLetter } from '../../pipeline/dead-letter-queries.ts';
import { timeFilter } from './time-filter.ts';

/** Validates the selection: `ids` or a `filter` that is not empty. Selecting everything is never intended. */
export function chosenDeadLetters({ ids, filter }: Pick<DeadLetterChoice, 'ids' | 'filter'>): DeadLetterFilter {
  if (ids !== undefined && filter !== undefined) {
    throw new ApiError('invalid_input', 'Expected either "ids" or "filter", got: both.', { attr: 'filter' });
  }
  if (ids !== undefined) return { ids };
  const wanted = filter === undefined ? {} : toDeadLetterFilter(filter, 'filter__');
  if (Object.values(wanted).some((value) => value !== undefined)) return wanted;
  const attr = filter === undefined ? 'ids' : 'filter';
  throw new ApiError(
    'required',
    'Expected "ids", or a "filter" with reason, event, distinct_id, lane, after or before.',
    {
      attr,
    },
  );
}

export function toDeadLetterFilter(
  fields: NonNullable<DeadLetterChoice['filter']>,
  attrPrefix: string,
): DeadLetterFilter {
  return {
    reason: fields.reason,
    event: fields.event,
    distinctId: fields.distinct_id,
    lane: fields.lane,
    after: timeFilter(fields.after, `${attrPrefix}after`),
    before: timeFilter(fields.before, `${attrPrefix}before`),
  };
}

export function toDeadLetterRecord(letter: ListedDeadLetter): DeadLetterRecord {
  const { id, reason, detail, attr, event, distinct_id, event_uuid, received_at, state, decided_at, replay_id } =
    letter;
  const lane = letter.lane === 'historical' ? 'historical' : 'live';
  return { id, lane, reason, detail, attr, event, distinct_id, event_uuid, received_at, state, decided_at, replay_id };
}
