import { oneOf, searchOf, text } from '../../search.ts';

export const states = ['open', 'replayed', 'discarded'] as const;

/** Search parameters of the page. */
export const deadLettersSearch = searchOf({
  reason: text,
  event: text,
  distinct_id: text,
  /** Defaults to open ones. */
  state: oneOf(...states),
  /** Id of the open dead letter. */
  letter: text,
});
