import { createHash } from 'node:crypto';

/** Totals that are equal for two tables with the same rows in any order. */
export interface TableTotals {
  readonly rows: number;
  /** Sum of the first 8 bytes of each row's SHA-256, modulo 2^64, as 16 hex digits. */
  readonly checksum: string;
}

export type Row = Readonly<Record<string, unknown>>;

const wordMask = 2n ** 64n - 1n;

export class TotalsOfRows {
  #rows = 0;
  #sum = 0n;

  add(row: Row): void {
    this.#rows += 1;
    const digest = createHash('sha256').update(canonical(row)).digest();
    this.#sum = (this.#sum + digest.readBigUInt64BE(0)) & wordMask;
  }

  totals(): TableTotals {
    return { rows: this.#rows, checksum: this.#sum.toString(16).padStart(16, '0') };
  }
}

export function areEqual(a: TableTotals, b: TableTotals): boolean {
  return a.rows === b.rows && a.checksum === b.checksum;
}

/** Formats a row as text that is the same for both dialects. */
function canonical(row: Row): string {
  const cells = Object.keys(row)
    .toSorted()
    .map((name) => [name, cellOf(row[name])]);
  return JSON.stringify(cells);
}

function cellOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') };
  if (typeof value === 'bigint') return Number(value);
  // PostgreSQL's text cannot contain NUL; the adapter replaces it by this character.
  if (typeof value === 'string') return value.replaceAll('\0', '\uFFFD');
  return value ?? null;
}
