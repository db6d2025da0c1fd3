interface WithIds {
  readonly distinct_ids: readonly string[];
}

/** Per person in a list of events, which may name the same person on every line. */
export const idsPerEventMax = 25;
/** Per person in a list. */
export const idsInListMax = 100;
/** For a single person. */
export const idsPerPersonMax = 1000;

/** Limits the ids of a person and adds their total: a response stays small however many ids were merged into the person. */
export function limitIds<P extends WithIds>(person: P, idsMax: number): P & { readonly distinct_ids_total: number } {
  const { distinct_ids: ids } = person;
  return { ...person, distinct_ids: ids.length > idsMax ? ids.slice(0, idsMax) : ids, distinct_ids_total: ids.length };
}
