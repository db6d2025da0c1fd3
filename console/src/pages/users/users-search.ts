import { flag, searchOf } from '../../search.ts';

/** What the address of the page holds beside its path. */
export const usersSearch = searchOf({
  /** The form for an invitation is open. */
  invite: flag,
});
