import { isIP, Socket } from 'node:net';
import type { QueryArrayResult } from 'pg';
import type { PostgresTarget } from './postgres-target.ts';

export interface PostgresAnswer {
  readonly command: string;
  readonly rowCount: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly unknown[])[];
}

export interface PostgresConnection {
  query(text: string, values: readonly unknown[]): Promise<readonly PostgresAnswer[]>;
  end(): Promise<void>;
}

const connectTimeoutMs = 10_000;
const queryTimeoutMs = 60_000;
/** Bytes over the wire for one query. */
const answerBytesMax = 33_554_432;
const watchMs = 50;

/**
 * A connection to an address that was checked. Everything that the client would otherwise look up (environment, password
 * file, certificates) is given.
 */
export async function openPostgres(target: PostgresTarget, address: string): Promise<PostgresConnection> {
  // Few plugins need it, and the process starts sooner without.
  const { Client } = await import('pg');
  const socket = new Socket();
  const client = new Client({
    host: address,
    port: target.port,
    user: target.user,
    // As a function also the empty one is final.
    password: () => target.password,
    database: target.database,
    ssl: target.tls === null ? false : { ...target.tls, ...(isIP(target.host) === 0 && { servername: target.host }) },
    stream: () => socket,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    statement_timeout: queryTimeoutMs,
    application_name: 'millrace plugin',
    client_encoding: 'UTF8',
  });
  let broken: Error | undefined;
  // Also what happens between queries; the next one tells it.
  client.on('error', (error: Error) => {
    broken = error;
  });
  await client.connect();
  return {
    query: async (text, values) => {
      if (broken !== undefined) throw broken;
      const stopWatching = watchSize(socket);
      try {
        const answers: unknown = await client.query({ text, values: [...values], rowMode: 'array' });
        return (Array.isArray(answers) ? answers : [answers]).map(answerOf);
      } finally {
        stopWatching();
      }
    },
    end: () => client.end(),
  };
}

/** The client keeps a whole answer in memory, however large the server makes it. */
function watchSize(socket: Socket): () => void {
  const before = socket.bytesRead;
  const timer = setInterval(() => {
    if (socket.bytesRead - before <= answerBytesMax) return;
    socket.destroy(new Error(`expected an answer of at most ${answerBytesMax} bytes, got more; ask for fewer rows`));
  }, watchMs);
  return () => clearInterval(timer);
}

function answerOf(result: QueryArrayResult): PostgresAnswer {
  return {
    command: result.command,
    rowCount: result.rowCount,
    fields: result.fields.map(({ name, dataTypeID }) => ({ name, dataTypeID })),
    rows: result.rows.map((row) => row.map(plainValue)),
  };
}

function plainValue(value: unknown): unknown {
  return Buffer.isBuffer(value) ? { base64: value.toString('base64') } : value;
}
