import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import type { Connection, ConnectionOptions } from 'mysql2';
import type { ResolveHost } from '../source.ts';
import type { DatabasePlace } from './database-place.ts';
import { isInterruption, mysqlError, tooSlow } from './mysql-errors.ts';
import { startResult, type MysqlResult, type MysqlRows } from './mysql-result.ts';
import type { SnapshotSession } from './snapshots.ts';

export interface MysqlSession extends SnapshotSession {
  /**
   * Reads the rows of a query, in batches of a few MB. Leaving early ends the query, not the transaction. Throws SourceError,
   * SourceWaitError, or the signal's reason.
   */
  read(sql: string): AsyncIterable<MysqlRows>;
  /** Reads a small result whole. Throws as `read` does. */
  query(sql: string): Promise<MysqlRows>;
}

const connectTimeoutMs = 20_000;
/** How long a query may take until its first row, and between two batches. */
const idleMs = 1_800_000;
/** The most that servers on every system accept: a query or a transaction waits while the export waits for disk space. */
const serverPatienceSeconds = 2_147_483;

const preparations = [
  `set @@session.time_zone = '+00:00', @@session.net_write_timeout = ${serverPatienceSeconds}, ` +
    `@@session.wait_timeout = ${serverPatienceSeconds}`,
  'set session transaction isolation level repeatable read',
  'start transaction with consistent snapshot, read only',
];

/** @param resolve returns the checked address of a host, and throws OutboundError for a refused one */
export async function openSession(
  place: DatabasePlace,
  resolve: ResolveHost,
  signal: AbortSignal,
): Promise<MysqlSession> {
  const line = await connect(place, resolve, signal);
  const session = sessionOf(line, () => interrupt(place, resolve, signal, line.threadId));
  try {
    for (const sql of preparations) await session.query(sql);
    return session;
  } catch (error) {
    line.close();
    throw error;
  }
}

/** A connection whose failures have a type. */
interface Line {
  readonly connection: Connection;
  readonly threadId: number;
  /** Calls `then` when the connection breaks, immediately if it is broken. Only the last one is called. */
  onBreak(then: (error: unknown) => void): void;
  /** Converts an error to the one that is thrown. */
  typed(error: unknown): unknown;
  close(): void;
}

async function connect(place: DatabasePlace, resolve: ResolveHost, signal: AbortSignal): Promise<Line> {
  signal.throwIfAborted();
  const typed = (error: unknown): unknown => (signal.aborted ? signal.reason : mysqlError(error, place));
  const socket = new Socket();
  const onAbort = (): void => void socket.destroy();
  signal.addEventListener('abort', onAbort);
  const close = (): void => {
    signal.removeEventListener('abort', onAbort);
    socket.destroy();
  };
  try {
    const address = await resolve(place.host, place.port);
    const { createConnection } = await import('mysql2');
    socket.setKeepAlive(true, 60_000).setNoDelay(true).connect({ host: address, port: place.port });
    const connection = createConnection(optionsOf(place, socket));
    let broken: { readonly error: unknown } | undefined;
    let tell: (error: unknown) => void = () => {};
    connection.on('error', (error) => {
      broken ??= { error };
      tell(error);
    });
    await new Promise<void>((done, fail) => {
      connection.connect((error) => (error === null ? done() : fail(error)));
    });
    const onBreak: Line['onBreak'] = (then) => {
      tell = then;
      if (broken !== undefined) then(broken.error);
    };
    return { connection, threadId: connection.threadId ?? 0, onBreak, typed, close };
  } catch (error) {
    close();
    throw typed(error);
  }
}

/** The name decides about the certificate; the socket is connected to the checked address. */
function optionsOf(place: DatabasePlace, socket: Socket): ConnectionOptions {
  const { host, port, user, password, database, tls } = place;
  const isVerified = tls === 'verify';
  return {
    host,
    port,
    user,
    password,
    database,
    stream: socket,
    ...(tls !== 'off' && { ssl: { rejectUnauthorized: isVerified, verifyIdentity: isVerified } }),
    charset: 'utf8mb4',
    connectTimeout: connectTimeoutMs,
    // A server must not request files of this machine.
    flags: ['-LOCAL_FILES'],
    multipleStatements: false,
    // Names of columns never become code.
    disableEval: true,
    connectAttributes: { program_name: 'millrace import' },
  };
}

function sessionOf(line: Line, interruptQuery: () => Promise<void>): MysqlSession {
  let isBroken = false;
  /** A result that was not read to its end. */
  let left: MysqlResult | undefined;
  const failing = (error: unknown): unknown => {
    isBroken = true;
    return line.typed(error);
  };
  const settle = async (): Promise<void> => {
    const rest = left;
    left = undefined;
    if (rest === undefined) return;
    await interruptQuery();
    await rest.drain().catch((error: unknown) => {
      if (!isInterruption(error)) throw error;
    });
  };
  async function* read(sql: string): AsyncGenerator<MysqlRows> {
    try {
      await settle();
      const result = startResult(line.connection, sql);
      line.onBreak(result.fail);
      left = result;
      for (;;) {
        const batch = await result.take(idleMs, tooSlow);
        if (batch === undefined) break;
        yield batch;
      }
      left = undefined;
    } catch (error) {
      left = undefined;
      throw failing(error);
    }
  }
  return {
    snapshot: `snapshot ${randomUUID()}`,
    isBroken: () => isBroken,
    read,
    async query(sql) {
      const found: MysqlRows[] = [];
      for await (const batch of read(sql)) found.push(batch);
      return { columns: found[0]?.columns ?? [], rows: found.flatMap(({ rows }) => rows), bytes: 0 };
    },
    // The transaction changed nothing: the server ends it with the connection.
    [Symbol.asyncDispose]: async () => line.close(),
  };
}

/** Ends the query of another connection of the same user, whose transaction stays. Throws as `openSession` does. */
async function interrupt(
  place: DatabasePlace,
  resolve: ResolveHost,
  signal: AbortSignal,
  threadId: number,
): Promise<void> {
  const line = await connect(place, resolve, signal);
  try {
    const result = startResult(line.connection, `kill query ${threadId}`);
    line.onBreak(result.fail);
    await result.drain();
  } catch (error) {
    throw line.typed(error);
  } finally {
    line.close();
  }
}
