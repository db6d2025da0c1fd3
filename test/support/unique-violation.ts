/** SQLITE_CONSTRAINT_PRIMARYKEY, _UNIQUE and _ROWID. */
const sqliteCodes: ReadonlySet<unknown> = new Set([1555, 2067, 2579]);
const postgresCode = '23505';

/**
 * Whether the store refused a row because its key is taken. On PostgreSQL the transaction is lost with it: do not continue
 * in it, or use `on conflict` in the first place.
 */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('errcode' in error && sqliteCodes.has(error.errcode)) return true;
  return 'code' in error && error.code === postgresCode;
}
