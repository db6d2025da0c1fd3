/** Key of the setting that every transformation has in addition to its own: which events it gets. */
export const eventFilterKey = '$filter';

/** Operators of its conditions. */
export const conditionOperators = [
  'is',
  'is_not',
  'contains',
  'not_contains',
  'gt',
  'lt',
  'is_set',
  'is_not_set',
] as const;
export type ConditionOperator = (typeof conditionOperators)[number];
