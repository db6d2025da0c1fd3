import { flag, oneOf, searchOf, text } from '../../search.ts';

export const addWays = ['built-in', 'npm', 'archive', 'code'] as const;
export type AddWay = (typeof addWays)[number];

/** What the address of the page holds beside its path. */
export const transformationsSearch = searchOf({
  q: text,
  state: oneOf('on', 'off', 'failing'),
  /** Those in the bin instead of the others. */
  bin: flag,
  /** A new one is being added, in this way. */
  add: oneOf(...addWays),
});
