import { oneOf, searchOf, text } from '../../search.ts';

export const states = ['open', 'replayed', 'discarded'] as const;

/** What the address of the page holds beside its path. */
export const deadLettersSearch = searchOf({
  reason: text,
  event: text,
  distinct_id: text,
  /** Absent: open ones. */
  state: oneOf(...states),
  /** Id of the dead letter that is open beside the table. */
  letter: text,
});
