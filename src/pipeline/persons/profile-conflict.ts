/** Somebody else has changed what this was computed from. Nothing of the transaction may be committed; it is done again. */
export class ProfileConflictError extends Error {
  override name = 'ProfileConflictError';
}

/** `what` names the rows that were found or made. Errors: ProfileConflictError, when some are missing. */
export function expectAll(found: number, expected: number, what: string): void {
  if (found === expected) return;
  throw new ProfileConflictError(
    `expected ${expected} ${what}, got ${found}: another slot has changed them; the transaction is done again`,
  );
}
