import { flag, oneOf, searchOf, text } from '../../search.ts';

const addWays = ['built-in', 'npm', 'archive', 'code'] as const;
export type AddWay = (typeof addWays)[number];

/** Search parameters of the transformations page. */
export const transformationsSearch = searchOf({
  q: text,
  state: oneOf('on', 'off', 'failing'),
  /** Whether the bin is shown. */
  bin: flag,
  /** The open tab of the dialog that adds a transformation. */
  add: oneOf(...addWays),
});

const transformationTabs = ['settings', 'code', 'test', 'replay', 'metrics', 'logs', 'errors', 'history'] as const;
export type TransformationTab = (typeof transformationTabs)[number];

/** Search parameters of the transformation page. */
export const transformationSearch = searchOf({
  tab: oneOf(...transformationTabs),
  /** Filters of the log: level, and part of a line. */
  level: oneOf('DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR'),
  q: text,
  /** Time whose state the history shows. */
  at: text,
});
