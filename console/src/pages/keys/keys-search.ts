import { flag, searchOf } from '../../search.ts';

/** Search parameters of the page. */
export const keysSearch = searchOf({
  /** Whether the form for a new key is open. */
  create: flag,
});
