import { flag, oneOf, searchOf } from '../../search.ts';

export const states = ['filed', 'approved', 'rejected', 'ended'] as const;

/** Search parameters of the page. */
export const agreementsSearch = searchOf({
  state: oneOf(...states),
  /** Whether the request form is open. */
  file: flag,
});
