import { isIP, Socket } from 'node:net';
import type { Client, ClientConfig, QueryArrayConfig, QueryArrayResult } from 'pg';
import { SourceError, SourceWaitError, type ResolveHost } from '../source.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import type { Column, ListParsers } from './postgres-rows.ts';

export interface PostgresPlace {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: 'verify' | 'no verify' | 'off';
}

export interface PostgresRows {
  readonly columns: readonly Column[];
  /** Values as PostgreSQL writes them in text. */
  readonly rows: readonly (readonly (string | null)[])[];
}

/** A connection inside of one transaction that can only read, and sees the database as it was at its beginning. */
export interface PostgresSession extends AsyncDisposable {
  /** Throws SourceError, SourceWaitError, or the signal's reason. */
  query(text: string): Promise<PostgresRows>;
  readonly lists: ListParsers;
}

const connectTimeoutMs = 20_000;
const statementTimeoutMs = 1_800_000;

/** @param resolve gives the checked address of a host, and throws OutboundError for one that is refused */
export async function openSession(
  place: PostgresPlace,
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
    // What happens between two queries; the next one fails by it.
    client.on('error', () => undefined);
    await client.connect();
    const lists: ListParsers = (dataTypeID) => types.getTypeParser(dataTypeID);
    const session = sessionOf(client, typed, lists, () => signal.removeEventListener('abort', onAbort));
    await session.query('begin transaction isolation level repeatable read read only');
    // While the export waits for room, the cursor stays open.
    await session.query('set local idle_in_transaction_session_timeout = 0');
    return session;
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
): PostgresSession {
  return {
    lists,
    query: async (text) => {
      // One statement only, whatever the text holds.
      const query = { text, rowMode: 'array', queryMode: 'extended', types: { getTypeParser: () => asText } } as const;
      try {
        const result: QueryArrayResult<(string | null)[]> = await client.query(query satisfies QueryArrayConfig);
        return { columns: result.fields.map(({ name, dataTypeID }) => ({ name, dataTypeID })), rows: result.rows };
      } catch (error) {
        throw typed(error);
      }
    },
    [Symbol.asyncDispose]: async () => {
      forget();
      // The transaction changed nothing, so a connection that ends badly here takes nothing away.
      await client.end().catch(() => undefined);
    },
  };
}

function asText(value: string): string {
  return value;
}

/** Everything that the client would otherwise look up (environment, password file, certificates) is given. */
function configOf(place: PostgresPlace, address: string, socket: Socket): ClientConfig {
  const { host, port, user, password, database, tls } = place;
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return {
    host: address,
    port,
    user,
    // As a function also the empty one is final.
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

/** Connection lost, too many connections, shutting down, a standby that cannot go on: another time it may work. */
const passing = /^(08|53|57P0|40|58|XX)/;
const timedOut = '57014';

function postgresError(error: unknown, { password, host }: PostgresPlace): unknown {
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
    return new SourceError(`PostgreSQL answers: ${message} (${code})`, { cause: error });
  if (/certificate|self.signed|does not support SSL/i.test(message)) {
    return new SourceError(`no safe connection to PostgreSQL: ${message}; see the setting "tls"`, { cause: error });
  }
  return new SourceWaitError(`the connection to PostgreSQL broke: ${message}`, { unlimited: true, cause: error });
}
