/** A failure that no record should cause. Its message names the record and the next step. A second retry will not help. */
export class CheckFailure extends Error {
  override name = 'CheckFailure';
}

/** `work`: `checking line 7 of exports/a.ndjson`. */
export function checkFailure(work: string, cause: unknown): CheckFailure {
  if (cause instanceof CheckFailure) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new CheckFailure(`${work} failed: ${message}`, { cause });
}

/** Reports counts that should agree but do not: no result of the run can be trusted. */
export function countsDiffer(place: string, differences: readonly string[]): CheckFailure {
  return new CheckFailure(`expected the two counts of ${place} to agree, got ${differences.join('; ')}`);
}
