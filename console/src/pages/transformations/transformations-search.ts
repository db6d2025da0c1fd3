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

const transformationTabs = ['settings', 'code', 'test', 'metrics', 'logs', 'errors', 'history'] as const;
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
