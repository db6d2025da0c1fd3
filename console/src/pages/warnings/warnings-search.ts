import { oneOf, searchOf, text } from '../../search.ts';

export const severities = ['error', 'warning', 'info'] as const;
export const periods = ['24h', '7d', '30d'] as const;

/** Search parameters of the page. */
export const warningsSearch = searchOf({
  q: text,
  severity: oneOf(...severities),
  period: oneOf(...periods),
  /** The open type of warning. */
  type: text,
});
