import { isIP, Socket } from 'node:net';
import type { Client, ClientConfig, QueryArrayConfig, QueryArrayResult } from 'pg';
import { SourceError, SourceWaitError, type ResolveHost } from '../source.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import type { DatabasePlace } from './database-place.ts';
import type { SnapshotSession } from './snapshots.ts';
import type { Column, ListParsers } from './postgres-rows.ts';

interface PostgresRows {
  readonly columns: readonly Column[];
  /** Values in PostgreSQL's text form. */
  readonly rows: readonly (readonly (string | null)[])[];
}

export interface PostgresSession extends SnapshotSession {
  /** Throws SourceError, SourceWaitError, or the signal's reason. */
  query(text: string): Promise<PostgresRows>;
  readonly lists: ListParsers;
}

const connectTimeoutMs = 20_000;
const statementTimeoutMs = 1_800_000;

/** @param resolve returns the checked address of a host, and throws OutboundError for a refused one */
export async function openSession(
  place: DatabasePlace,
  resolve: ResolveHost,
  signal: AbortSignal,
): Promise<PostgresSession> {
  signal.throwIfAborted();
  const socket = new Socket();
  const onAbort = (): void => void socket.destroy();
  signal.addEventListener('abort', onAbort);
  const typed = (error: unknown): unknown => (signal.aborted ? signal.reason : postgresError(error, place));
  try {
    const { Client: PgClient, types } = await import('pg');
    const client = new PgClient(configOf(place, await resolve(place.host, place.port), socket));
    // Errors between two queries; the next query fails because of them.
    client.on('error', () => undefined);
    await client.connect();
    const lists: ListParsers = (dataTypeID) => types.getTypeParser(dataTypeID);
    const session = sessionOf(client, typed, lists, () => signal.removeEventListener('abort', onAbort));
    await session.query('begin transaction isolation level repeatable read read only');
    // The cursor stays open while the export waits for disk space.
    await session.query('set local idle_in_transaction_session_timeout = 0');
    const { rows } = await session.query('select txid_current_snapshot()::text');
    return { ...session, snapshot: `snapshot ${rows[0]?.[0] ?? ''}` };
  } catch (error) {
    signal.removeEventListener('abort', onAbort);
    socket.destroy();
    throw typed(error);
  }
}

function sessionOf(
  client: Client,
  typed: (error: unknown) => unknown,
  lists: ListParsers,
  forget: () => void,
): Omit<PostgresSession, 'snapshot'> {
  let isBroken = false;
  return {
    lists,
    isBroken: () => isBroken,
    query: async (text) => {
      // Only one statement, whatever the text contains.
      const query = { text, rowMode: 'array', queryMode: 'extended', types: { getTypeParser: () => asText } } as const;
      try {
        const result: QueryArrayResult<(string | null)[]> = await client.query(query satisfies QueryArrayConfig);
        return { columns: result.fields.map(({ name, dataTypeID }) => ({ name, dataTypeID })), rows: result.rows };
      } catch (error) {
        isBroken = true;
        throw typed(error);
      }
    },
    [Symbol.asyncDispose]: async () => {
      forget();
      // The transaction changed nothing, so a connection that fails here loses nothing.
      await client.end().catch(() => undefined);
    },
  };
}

function asText(value: string): string {
  return value;
}

/** Sets everything that the client would otherwise look up (environment, password file, certificates). */
function configOf(place: DatabasePlace, address: string, socket: Socket): ClientConfig {
  const { host, port, user, password, database, tls } = place;
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return {
    host: address,
    port,
    user,
    // A function, so that an empty password is also final.
    password: () => password,
    database,
    ssl: tls === 'off' ? false : { rejectUnauthorized: tls === 'verify', ...servername },
    stream: () => socket,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    application_name: 'millrace import',
    client_encoding: 'UTF8',
    options: '-c timezone=UTC -c datestyle=ISO -c intervalstyle=iso_8601 -c bytea_output=hex',
  };
}

/** Temporary: connection lost, too many connections, shutting down, a conflict with recovery on a standby. */
const passing = /^(08|53|57P0|40|58|XX)/;
const timedOut = '57014';

function postgresError(error: unknown, { password, host }: DatabasePlace): unknown {
  if (error instanceof SourceError || error instanceof SourceWaitError) return error;
  if (error instanceof OutboundError && !error.retry) {
    return new SourceError(`PostgreSQL at ${host} cannot be reached: ${error.message}`, { cause: error });
  }
  const raw = error instanceof Error ? error.message || error.name : String(error);
  const message = password === '' ? raw : raw.replaceAll(password, '***');
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === timedOut) {
    const advice = 'an index on the cursor column helps';
    const text = `PostgreSQL did not answer within ${statementTimeoutMs / 60_000} minutes (${message}); ${advice}`;
    return new SourceWaitError(text, { unlimited: false, cause: error });
  }
  const isAnswer = /^[0-9A-Z]{5}$/.test(code);
  if (isAnswer && !passing.test(code))
    return new SourceError(`PostgreSQL responded: ${message} (${code})`, { cause: error });
  if (/certificate|self.signed|does not support SSL/i.test(message)) {
    return new SourceError(`no safe connection to PostgreSQL: ${message}; see the setting "tls"`, { cause: error });
  }
  return new SourceWaitError(`the connection to PostgreSQL broke: ${message}`, { unlimited: true, cause: error });
}
