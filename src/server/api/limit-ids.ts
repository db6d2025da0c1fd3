interface WithIds {
  readonly distinct_ids: readonly string[];
}

/** Of a person in a list of events, which may name the same person on every line. */
export const idsPerEventMax = 25;
/** Of each person of a list. */
export const idsInListMax = 100;
/** Of a person by itself. */
export const idsPerPersonMax = 1000;

/** A person with at most so many ids, and how many there are: an answer stays small however many ids were merged into one person. */
export function limitIds<P extends WithIds>(person: P, idsMax: number): P & { readonly distinct_ids_total: number } {
  const { distinct_ids: ids } = person;
  return { ...person, distinct_ids: ids.length > idsMax ? ids.slice(0, idsMax) : ids, distinct_ids_total: ids.length };
}
