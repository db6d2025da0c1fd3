/** Another slot has changed what this was computed from. The transaction must not be committed; it is repeated. */
export class ProfileConflictError extends Error {
  override name = 'ProfileConflictError';
}

/** @param what names the rows that were found or inserted
 * @throws ProfileConflictError when some are missing */
export function expectAll(found: number, expected: number, what: string): void {
  if (found === expected) return;
  throw new ProfileConflictError(
    `expected ${expected} ${what}, got ${found}: another slot has changed them; the transaction is repeated`,
  );
}
