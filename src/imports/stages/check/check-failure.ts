/** Something failed that no record may make fail: at which record, and what the user can do. Trying again may help once, not twice. */
export class CheckFailure extends Error {
  override name = 'CheckFailure';
}

/** `work`: `checking line 7 of exports/a.ndjson`. */
export function checkFailure(work: string, cause: unknown): CheckFailure {
  if (cause instanceof CheckFailure) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new CheckFailure(`${work} failed: ${message}`, { cause });
}

/** Counts that have to agree and do not: nothing of the run can be trusted. */
export function countsDiffer(place: string, differences: readonly string[]): CheckFailure {
  return new CheckFailure(`expected the two counts of ${place} to agree, got ${differences.join('; ')}`);
}
