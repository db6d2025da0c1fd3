import { flag, searchOf } from '../../search.ts';

/** Search parameters of the page. */
export const usersSearch = searchOf({
  /** Whether the invitation form is open. */
  invite: flag,
});
