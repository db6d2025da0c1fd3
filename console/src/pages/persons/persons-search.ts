import { searchOf, text } from '../../search.ts';

/** Search parameters of the persons page. */
export const personsSearch = searchOf({
  /** Prefix of a distinct id, or a UUID or e-mail address. */
  q: text,
});

/** Search parameters of the person page. */
export const personSearch = searchOf({
  /** UUID of the open event. */
  uuid: text,
});
