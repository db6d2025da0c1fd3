import { oneOf, searchOf, text } from '../../search.ts';

export const transformationTabs = ['settings', 'code', 'test', 'metrics', 'logs', 'errors', 'history'] as const;
export type TransformationTab = (typeof transformationTabs)[number];

/** What the address of the page holds beside its path. */
export const transformationSearch = searchOf({
  tab: oneOf(...transformationTabs),
  /** Of the log: its level, and part of a line. */
  level: oneOf('DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR'),
  q: text,
  /** Of the history: the time at which it is looked at. */
  at: text,
});
