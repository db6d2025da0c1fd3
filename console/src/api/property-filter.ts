/** One property filter in the format of the API. */
export interface PropertyFilter {
  readonly key: string;
  readonly operator: Operator;
  /** Numbers and booleans as JSON text; absent for `is_set` and `is_not_set`. */
  readonly value?: string;
}

export const operators = [
  { value: 'exact', label: 'is' },
  { value: 'is_not', label: 'is not' },
  { value: 'icontains', label: 'contains' },
  { value: 'not_icontains', label: 'does not contain' },
  { value: 'starts_with', label: 'starts with' },
  { value: 'gt', label: '>' },
  { value: 'gte', label: '≥' },
  { value: 'lt', label: '<' },
  { value: 'lte', label: '≤' },
  { value: 'is_set', label: 'is set' },
  { value: 'is_not_set', label: 'is not set' },
] as const;
export type Operator = (typeof operators)[number]['value'];

export function needsValue(operator: string): boolean {
  return operator !== 'is_set' && operator !== 'is_not_set';
}

/** Reads the search parameter; drops invalid filters. */
export function propertyFilters(raw: unknown): readonly PropertyFilter[] | undefined {
  if (!Array.isArray(raw)) return undefined;
  const filters = raw.flatMap((each: unknown) => {
    const filter = readFilter(each);
    return filter === undefined ? [] : [filter];
  });
  return filters.length === 0 ? undefined : filters;
}

function readFilter(raw: unknown): PropertyFilter | undefined {
  if (typeof raw !== 'object' || raw === null) return undefined;
  const { key, operator, value } = raw as Readonly<Record<string, unknown>>;
  const known = operators.find((each) => each.value === operator)?.value;
  if (typeof key !== 'string' || key === '' || known === undefined) return undefined;
  if (!needsValue(known)) return { key, operator: known };
  return typeof value === 'string' ? { key, operator: known, value } : undefined;
}

/** Builds the `properties` parameter of the API, or `undefined` without filters. */
export function filtersParameter(filters: readonly PropertyFilter[] | undefined): string | undefined {
  return filters === undefined || filters.length === 0 ? undefined : JSON.stringify(filters);
}
