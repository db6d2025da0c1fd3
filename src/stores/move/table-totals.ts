import { createHash } from 'node:crypto';

/** What two tables of the same rows have in common, in whatever order these come. */
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

/** The same text for the same row of either dialect. */
function canonical(row: Row): string {
  const cells = Object.keys(row)
    .toSorted()
    .map((name) => [name, cellOf(row[name])]);
  return JSON.stringify(cells);
}

function cellOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') };
  if (typeof value === 'bigint') return Number(value);
  // PostgreSQL's text holds no NUL; the adapter writes this in its place.
  if (typeof value === 'string') return value.replaceAll('\0', '\uFFFD');
  return value ?? null;
}
