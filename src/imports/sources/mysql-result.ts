import type { Connection, FieldPacket } from 'mysql2';

/** A column of a result, by the codes of the protocol. */
export interface MysqlColumn {
  readonly name: string;
  readonly type: number;
  /** 63 marks bytes. */
  readonly charset: number;
  /** Digits after the point. */
  readonly decimals: number;
  /** A column that MariaDB declares as JSON, which it stores as text. */
  readonly isJsonText: boolean;
}

export interface MysqlRows {
  readonly columns: readonly MysqlColumn[];
  /** Values in the server's text form, in UTF-8. */
  readonly rows: readonly (readonly (Buffer | null)[])[];
  /** Size of the values. */
  readonly bytes: number;
}

/** The result of a running query: the server waits while nothing is taken. */
export interface MysqlResult {
  /** Resolves with some rows, `undefined` after the last. The first time it resolves even if there are no rows. */
  take(idleMs: number, tooSlow: () => Error): Promise<MysqlRows | undefined>;
  /** Reads the rest, for its end. */
  drain(): Promise<void>;
  /** Reports that the connection broke. */
  fail(error: unknown): void;
}

const batchBytes = 4 * 1024 * 1024;
const firstBatchRows = 100;
const batchRowsMax = 10_000;

export function startResult(connection: Connection, sql: string): MysqlResult {
  let columns: readonly MysqlColumn[] = [];
  let rows: (Buffer | null)[][] = [];
  let bytes = 0;
  let rowsMax = firstBatchRows;
  let taken = 0;
  let end: { readonly error?: unknown } | undefined;
  let isDraining = false;
  let wake: () => void = () => {};
  const finish = (how: { readonly error?: unknown }): void => {
    end ??= how;
    wake();
  };
  const isFull = (): boolean => rows.length >= rowsMax || bytes >= batchBytes;
  connection
    .query({ sql, rowsAsArray: true, typeCast: false })
    // A statement without a result has no columns.
    .on('fields', (found: readonly FieldPacket[] | undefined) => void (columns = (found ?? []).map(columnOf)))
    .on('result', (row: unknown) => {
      if (isDraining || !Array.isArray(row)) return;
      // Sound: with `typeCast: false` values are bytes.
      rows.push(row as (Buffer | null)[]);
      for (const value of row as (Buffer | null)[]) bytes += value?.length ?? 0;
      if (!isFull()) return;
      connection.pause();
      wake();
    })
    .on('error', (error) => finish({ error }))
    .on('end', () => finish({}));
  const settled = (timeoutMs: number | undefined, tooSlow?: () => Error): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(() => reject(tooSlow?.()), timeoutMs);
      wake = () => {
        if (end === undefined && (isDraining || !isFull())) return;
        clearTimeout(timer);
        resolve();
      };
      wake();
    });
  const failed = (): void => {
    if (end?.error !== undefined) throw end.error;
  };
  return {
    fail: (error) => finish({ error }),
    async take(idleMs, tooSlow) {
      if (end === undefined && !isFull()) {
        connection.resume();
        await settled(idleMs, tooSlow);
      }
      failed();
      if (rows.length === 0 && taken > 0) return undefined;
      const batch = { columns, rows, bytes };
      taken += 1;
      rowsMax = Math.min(batchRowsMax, rowsMax * 2);
      rows = [];
      bytes = 0;
      return batch;
    },
    async drain() {
      isDraining = true;
      rows = [];
      connection.resume();
      await settled(undefined);
      failed();
    },
  };
}

function columnOf({ name, columnType = 0, characterSet = 0, decimals, extendedFormat }: FieldPacket): MysqlColumn {
  return { name, type: columnType, charset: characterSet, decimals, isJsonText: extendedFormat === 'json' };
}
