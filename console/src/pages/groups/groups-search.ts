import { integer, searchOf, text } from '../../search.ts';

/** Search parameters of the page. */
export const groupsSearch = searchOf({
  /** Index of the group type; defaults to the first. */
  type: integer,
  /** Part of a key. */
  q: text,
  /** Key of the open group. */
  group: text,
});
