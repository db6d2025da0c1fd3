import { oneOf, searchOf, text } from '../../search.ts';

export const severities = ['error', 'warning', 'info'] as const;
export const periods = ['24h', '7d', '30d'] as const;

/** What the address of the page holds beside its path. */
export const warningsSearch = searchOf({
  q: text,
  severity: oneOf(...severities),
  period: oneOf(...periods),
  /** Type of the warning whose details are open. */
  type: text,
});
