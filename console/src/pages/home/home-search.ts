import { oneOf, searchOf } from '../../search.ts';

export const senders = ['curl', 'node', 'python', 'browser'] as const;
export type Sender = (typeof senders)[number];

/** Search parameters of the page. */
export const homeSearch = searchOf({
  /** Language of the sample code. */
  sender: oneOf(...senders),
});
