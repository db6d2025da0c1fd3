/**
 * What handlers check themselves, with sentences that say more than a schema could: `stated` is in the document, and
 * validation leaves it alone. Handlers may take more than is stated (a day for a time, any case), never less.
 */
export const stated = {
  time: { stated: { format: 'date-time' } },
  day: { stated: { format: 'date' } },
  /** Nobody makes one up: it is taken from the page before. */
  cursor: { stated: { format: 'cursor' } },
  timeZone: { stated: { format: 'iana-time-zone' } },
  propertyFilters: { stated: { format: 'property-filters' } },
} as const;

/** Some of these words, with commas between. */
export function statedList(words: readonly string[]) {
  const word = `(${words.join('|')})`;
  return { stated: { pattern: `^${word}(,${word})*$` } };
}

/** One of these groups of fields, and nothing of the others. */
export function statedChoice(...groups: readonly (readonly string[])[]) {
  return { stated: { oneOf: groups.map((required) => ({ required })) } };
}
