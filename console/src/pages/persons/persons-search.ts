import { flag, oneOf, searchOf, text, texts } from '../../search.ts';

/** Search parameters of the persons page. */
export const personsSearch = searchOf({
  /** Prefix of a distinct id, or a UUID or e-mail address. */
  q: text,
  /** Whether to list only identified or only anonymous persons. */
  identified: flag,
  order: oneOf('oldest'),
  /** Properties with a separate column. */
  columns: texts,
});

/** Search parameters of the person page. */
export const personSearch = searchOf({
  /** UUID of the open event. */
  uuid: text,
});
