import { searchOf, text } from '../../search.ts';

/** What the address of the page holds beside its path. */
export const personsSearch = searchOf({
  /** Beginning of an id, a uuid or an email address. */
  q: text,
});

/** What the address of the page holds beside its path. */
export const personSearch = searchOf({
  /** Event whose details are open. */
  uuid: text,
});
