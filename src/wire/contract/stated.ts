/**
 * Constraints that handlers check themselves, with clearer errors than a schema could give. `stated` appears in the document
 * and is ignored by validation. Handlers may accept more than stated (a day as a time, any case), never less.
 */
export const stated = {
  time: { stated: { format: 'date-time' } },
  day: { stated: { format: 'date' } },
  /** Opaque: taken from the previous page. */
  cursor: { stated: { format: 'cursor' } },
  timeZone: { stated: { format: 'iana-time-zone' } },
  propertyFilters: { stated: { format: 'property-filters' } },
} as const;

/** A comma-separated list of these words. */
export function statedList(words: readonly string[]) {
  const word = `(${words.join('|')})`;
  return { stated: { pattern: `^${word}(,${word})*$` } };
}

/** Exactly one of these groups of fields. */
export function statedChoice(...groups: readonly (readonly string[])[]) {
  return { stated: { oneOf: groups.map((required) => ({ required })) } };
}
