import { integer, searchOf, text } from '../../search.ts';

/** What the address of the page holds beside its path. */
export const groupsSearch = searchOf({
  /** Index of the group type; absent: the first. */
  type: integer,
  /** Part of a key. */
  q: text,
  /** Key of the group whose details are open. */
  group: text,
});
