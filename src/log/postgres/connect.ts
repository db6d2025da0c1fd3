import { DatabaseError, Pool, types, type CustomTypesConfig, type QueryResultRow } from 'pg';
import { networkFault } from '../../base/network-fault.ts';
import { LogUnavailableError } from '../eventlog.ts';

export interface PostgresLogOptions {
  /** postgres://user:password@host:port/database, which has the metadata as well. */
  readonly url: string;
  readonly slots: number;
  /** Largest body of a record. */
  readonly bodyBytesMax: number;
  /** Connections of one writer or of all readers of a thread. */
  readonly connectionsMax: number;
}

/** Asks the database, each time on any connection. */
export interface Connected {
  /** Returns rows. Rejects with LogUnavailableError: the statement may have been executed, if the connection was lost. */
  ask<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Makes several statements one transaction, under the lock that creating the tables takes. */
  create(statements: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const connectMsMax = 10_000;
/** Any number that no other program takes in this database. */
const createLock = 0x6d_72_6c_6f_67;

/** Connects with the first statement. `statementMs`: time limit of a statement. */
export function connect(
  { url, connectionsMax }: Pick<PostgresLogOptions, 'url' | 'connectionsMax'>,
  statementMs: number,
): Connected {
  const pool = new Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectMsMax,
    query_timeout: statementMs,
    application_name: 'millrace event log',
    keepAlive: true,
    types: numericTypes,
  });
  // Without a listener the loss of an idle connection would end the process; the next statement reports it.
  pool.on('error', () => undefined);
  let ended: Promise<void> | undefined;
  return {
    ask: async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      try {
        return (await pool.query<Row>(text, [...values])).rows;
      } catch (error) {
        throw unavailable(error);
      }
    },
    create: async (statements) => {
      try {
        const text = ['BEGIN', `SELECT pg_advisory_xact_lock(${createLock})`, ...statements, 'COMMIT'].join(';\n');
        await pool.query(text);
      } catch (error) {
        throw unavailable(error);
      }
    },
    close: () => (ended ??= pool.end()),
  };
}

function unavailable(error: unknown): LogUnavailableError {
  // The server's own words name the right, table or limit.
  const reason = error instanceof DatabaseError ? `${error.message} (${error.code})` : networkFault(error);
  return new LogUnavailableError(`PostgreSQL did not execute a statement of the event log: ${reason}`, {
    cause: error,
  });
}

/** Type id of PostgreSQL. */
const int8 = 20;

/** Numbers as numbers: no log reaches 2^53 records. */
const numericTypes: CustomTypesConfig = {
  getTypeParser: (id, format) => (id === int8 && format !== 'binary' ? Number : types.getTypeParser(id, format)),
};
