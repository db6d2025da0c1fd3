import { flag, oneOf, searchOf } from '../../search.ts';

export const states = ['filed', 'approved', 'rejected', 'ended'] as const;

/** What the address of the page holds beside its path. */
export const agreementsSearch = searchOf({
  state: oneOf(...states),
  /** The form for a new request is open. */
  file: flag,
});
