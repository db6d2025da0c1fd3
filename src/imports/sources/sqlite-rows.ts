/** A value of node:sqlite, with integers as bigint. */
export type SqliteValue = null | bigint | number | string | Uint8Array;

/**
 * Returns a function that writes rows as lines of JSON: integers beyond a double's precision and numbers unknown to JSON
 * (infinity) as text, bytes as base64.
 */
export function createSqliteRowWriter(columns: readonly string[]): (row: readonly SqliteValue[]) => string {
  const keys = columns.map((name) => `${JSON.stringify(name)}:`);
  return (row) => `{${keys.map((key, index) => key + jsonOf(row[index] ?? null)).join(',')}}\n`;
}

function jsonOf(value: SqliteValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? String(value) : `"${value}"`;
  if (typeof value === 'number') return numberOf(value);
  return value === null ? 'null' : `"${Buffer.from(value).toString('base64')}"`;
}

function numberOf(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`;
  return Object.is(value, -0) ? '-0.0' : String(value);
}
