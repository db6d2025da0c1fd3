import { oneOf, searchOf } from '../../search.ts';

export const senders = ['curl', 'node', 'python', 'browser'] as const;
export type Sender = (typeof senders)[number];

/** What the address of the page holds beside its path. */
export const homeSearch = searchOf({
  /** How the first event is to be sent. */
  sender: oneOf(...senders),
});
