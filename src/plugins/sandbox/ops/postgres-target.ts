import { recordArgument, textArgument, wholeNumberArgument } from './arguments.ts';

/** Where a plugin wants to connect to. */
export interface PostgresTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Null: without TLS. */
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

/** Reads what `new Client(…)` was given. A connection string is read here: pg's own reader would open files that it names. */
export function postgresTarget(argument: unknown): PostgresTarget {
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
