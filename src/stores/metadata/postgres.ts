import { Kysely, PostgresDialect, PostgresQueryCompiler } from 'kysely';
import { Pool, types, type CustomTypesConfig } from 'pg';
import type { Database, Metadata } from './database.ts';

const connectionsMaxDefault = 10;
const connectMsMax = 10_000;

/** Type ids of PostgreSQL. */
const bytea = 17;
const int8 = 20;
const numeric = 1700;

export interface PostgresDeps {
  /** Default 10. */
  readonly connectionsMax?: number;
  /** Called once for each lost connection; the pool opens a new one automatically. */
  readonly onConnectionLost?: (error: Error) => void;
}

/**
 * Opens the metadata store in a PostgreSQL database. Connects with the first query.
 *
 * @param url postgres://user:password@host:port/database
 * @throws for a URL of another form, without repeating it, since it contains a password
 */
export function openPostgres(url: string, deps: PostgresDeps = {}): Metadata {
  checkUrl(url);
  const pool = new Pool({
    connectionString: url,
    max: deps.connectionsMax ?? connectionsMaxDefault,
    connectionTimeoutMillis: connectMsMax,
    application_name: 'millrace',
    keepAlive: true,
    types: rowTypes,
  });
  // Without a listener the loss of a connection would end the process: the pool listens only while it is idle, and not while a
  // transaction holds it between two queries.
  pool.on('connect', (client) => {
    let isReported = false;
    client.on('error', (error) => {
      if (!isReported) deps.onConnectionLost?.(error);
      isReported = true;
    });
  });
  pool.on('error', (_error) => {
    // The connection's own listener has reported it.
  });
  const dialect = new PostgresDialect({ pool });
  return new Kysely<Database>({
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createDriver: () => dialect.createDriver(),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => new NulSafeCompiler(),
    },
  });
}

/** Replaces NUL, which PostgreSQL's text cannot contain, by U+FFFD, so that one invalid id cannot stop the pipeline permanently. */
export class NulSafeCompiler extends PostgresQueryCompiler {
  protected override appendValue(parameter: unknown): void {
    super.appendValue(typeof parameter === 'string' ? parameter.replaceAll('\0', '\uFFFD') : parameter);
  }
}

function checkUrl(url: string): void {
  if (URL.canParse(url) && /^postgres(ql)?:/i.test(url)) return;
  throw new Error('expected DATABASE_URL to be like postgres://user:password@host:5432/database, got another form');
}

/** Per pool, not for every user of the driver: numbers as numbers, bytes as Uint8Array, as in SQLite. */
const rowTypes: CustomTypesConfig = {
  getTypeParser: (id, format) => {
    if (format === 'binary') return types.getTypeParser(id, format);
    if (id === int8) return parseInt8;
    if (id === numeric) return Number;
    if (id === bytea) return parseBytea;
    return types.getTypeParser(id, 'text');
  },
};

function parseInt8(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number))
    throw new RangeError(`expected an integer below 2^53 from PostgreSQL, got: ${text}`);
  return number;
}

/** PostgreSQL's text form of bytes is `\x` and hex. */
function parseBytea(text: string): Uint8Array {
  const { buffer, byteOffset, byteLength } = Buffer.from(text.slice(2), 'hex');
  return new Uint8Array(buffer, byteOffset, byteLength);
}
