import {
  dataArgument,
  isPayload,
  listArgument,
  textArgument,
  recordArgument,
  wholeNumberArgument,
} from './arguments.ts';
import type { AsyncOps } from './ops.ts';
import { isIP, Socket } from 'node:net';
import type { QueryArrayResult } from 'pg';

type ResolveAllowed = (host: string, port: number) => Promise<{ readonly address: string }>;

const connectionsMax = 10;
const queryMax = 16_777_216;

/** A database error is a value, so that all its details are preserved. */
type PostgresOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly name: string; readonly message: string; readonly details: Record<string, string> };

/** PostgreSQL and Redshift for one instance: connects only to addresses that plugins may reach. */
export function createPostgresOps(resolveAllowed: ResolveAllowed): { ops: AsyncOps; close: () => void } {
  const open = new Map<number, PostgresConnection>();
  let last = 0;
  let opening = 0;
  let closed = false;
  const endAll = (): void => {
    for (const each of open.values()) void quietly(each.end());
    open.clear();
  };
  const connect = async (options: unknown): Promise<number> => {
    if (open.size + opening >= connectionsMax) {
      throw new Error(`pg: expected at most ${connectionsMax} concurrent connections per config; end() unused ones`);
    }
    opening++;
    try {
      const target = postgresTarget(options);
      const { address } = await resolveAllowed(target.host, target.port);
      const made = await openPostgres(target, address);
      const id = ++last;
      open.set(id, made);
      if (closed) endAll();
      return id;
    } finally {
      opening--;
    }
  };
  const connection = (id: unknown): PostgresConnection => {
    const found = typeof id === 'number' ? open.get(id) : undefined;
    if (found === undefined) throw new Error('pg: expected an open connection; call connect() first');
    return found;
  };
  const end = async (id: unknown): Promise<null> => {
    const ending = connection(id);
    open.delete(Number(id));
    await ending.end();
    return null;
  };
  return {
    ops: {
      'pg.connect': ([options]) => outcomeOf(connect(options)),
      'pg.query': ([id, text, values]) =>
        outcomeOf((async () => connection(id).query(textArgument(text, 'the query', queryMax), valuesOf(values)))()),
      'pg.end': ([id]) => outcomeOf(end(id)),
    },
    close: () => {
      closed = true;
      endAll();
    },
  };
}

/** The result of closing a connection interests no caller. */
async function quietly(end: Promise<void>): Promise<void> {
  await Promise.allSettled([end]);
}

/** Objects are bytes: the guest has converted all others to JSON. */
function valuesOf(values: unknown): unknown[] {
  return listArgument(values ?? [], 'the values', 65_535).map((value) =>
    isPayload(value) ? dataArgument(value, 'a value') : value,
  );
}

const detailNames = [
  'code',
  'severity',
  'detail',
  'hint',
  'position',
  'schema',
  'table',
  'column',
  'constraint',
  'routine',
];

async function outcomeOf(work: Promise<unknown>): Promise<PostgresOutcome> {
  try {
    return { ok: true, value: await work };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const details: Record<string, string> = {};
    for (const name of detailNames) {
      const detail: unknown = Reflect.get(error, name);
      if (typeof detail === 'string') details[name] = detail;
    }
    return { ok: false, name: error.name, message: error.message, details };
  }
}

interface PostgresAnswer {
  readonly command: string;
  readonly rowCount: number | null;
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly unknown[])[];
}

interface PostgresConnection {
  query(text: string, values: readonly unknown[]): Promise<readonly PostgresAnswer[]>;
  end(): Promise<void>;
}

const connectTimeoutMs = 10_000;
const queryTimeoutMs = 60_000;
/** Maximum bytes over the wire for one query. */
const answerBytesMax = 33_554_432;
const watchMs = 50;

/**
 * Connects to a checked address. Everything that the client would otherwise look up (environment, password file, certificates)
 * is given.
 */
async function openPostgres(target: PostgresTarget, address: string): Promise<PostgresConnection> {
  // Loaded on first use: few plugins need it, and the process starts faster.
  const { Client } = await import('pg');
  const socket = new Socket();
  const client = new Client({
    host: address,
    port: target.port,
    user: target.user,
    // As a function, so that an empty password is final too.
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
  // Also catches errors between queries; the next query reports them.
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

/** Limits the size because the client keeps a whole result in memory. */
function watchSize(socket: Socket): () => void {
  const before = socket.bytesRead;
  const timer = setInterval(() => {
    if (socket.bytesRead - before <= answerBytesMax) return;
    socket.destroy(new Error(`expected a result of at most ${answerBytesMax} bytes, got more; select fewer rows`));
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

/** The target of a plugin's connection. */
interface PostgresTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Null means no TLS. */
  readonly tls: {
    readonly rejectUnauthorized: boolean;
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
  } | null;
}

type Given = Readonly<Record<string, unknown>>;

const wordMax = 1000;
const pemMax = 65_536;

/** Reads the arguments of `new Client(…)`. Connection strings are parsed here: pg's own parser would open files that they name. */
function postgresTarget(argument: unknown): PostgresTarget {
  const options = recordArgument(argument, 'the connection');
  const given: Given = { ...options, ...fromConnectionString(options['connectionString']) };
  const user = word(given, 'user', '');
  if (user === '') throw new Error('pg: expected the name of a user in `user` or in the connection string, got none');
  const port = typeof given['port'] === 'string' ? Number(given['port']) : (given['port'] ?? 5432);
  return {
    host: word(given, 'host', 'localhost'),
    port: wholeNumberArgument(port, 'the port', 1, 65_535),
    user,
    password: word(given, 'password', ''),
    database: word(given, 'database', '') || user,
    tls: tlsOf(given['ssl']),
  };
}

function word(given: Given, name: string, missing: string): string {
  const value = given[name];
  return value === undefined || value === null ? missing : textArgument(value, `\`${name}\``, wordMax);
}

function fromConnectionString(value: unknown): Given {
  if (value === undefined || value === null || value === '') return {};
  const url = URL.parse(textArgument(value, 'the connection string', 4000));
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new Error('pg: expected a connection string like postgres://user:password@host:5432/database');
  }
  const parts = {
    host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'),
    port: url.port,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
  };
  const said = Object.entries(parts).filter(([, part]) => part !== '');
  return { ...Object.fromEntries(said), ...sslOf(url.searchParams) };
}

function sslOf(query: URLSearchParams): Given {
  const mode = query.get('sslmode') ?? (query.get('ssl') === 'true' ? 'require' : null);
  if (mode === null) return {};
  return { ssl: mode === 'disable' ? false : { rejectUnauthorized: mode !== 'no-verify' } };
}

function tlsOf(ssl: unknown): PostgresTarget['tls'] {
  if (ssl === undefined || ssl === null || ssl === false) return null;
  if (ssl === true) return { rejectUnauthorized: true };
  const given = recordArgument(ssl, '`ssl`');
  const pem = (name: string): Record<string, string> =>
    given[name] === undefined || given[name] === null ? {} : { [name]: textArgument(given[name], name, pemMax) };
  return { rejectUnauthorized: given['rejectUnauthorized'] !== false, ...pem('ca'), ...pem('cert'), ...pem('key') };
}
