import { flag, searchOf } from '../../search.ts';

/** What the address of the page holds beside its path. */
export const keysSearch = searchOf({
  /** The form for a new key is open. */
  create: flag,
});
