import type { PluginField, SettingValues } from '../../plugins/fields.ts';
import { wrongSetting } from '../../plugins/plugin.ts';
import { integerSetting, neededSetting, textSetting } from '../../plugins/setting-values.ts';

/** A database on a server, and the user who reads it. */
export interface DatabasePlace {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: 'verify' | 'no verify' | 'off';
}

/** A kind of database server. */
export interface DatabaseKind {
  readonly name: string;
  readonly port: number;
  /** Schemes of its connection strings; the first one is shown. */
  readonly schemes: readonly [string, ...string[]];
}

export const databaseExample = {
  host: 'db.example.com',
  database: 'shop',
  user: 'reader',
  password: 'secret',
  query: 'select id, name, user_id, created_at, data from events',
  cursor_column: 'created_at',
};

const tlsChoices = ['verify', 'no verify', 'off'] as const;

/** Declares the settings that `placeOf` reads. */
export function placeFields({ name, port, schemes: [scheme] }: DatabaseKind): readonly PluginField[] {
  return [
    {
      key: 'url',
      name: 'Connection string',
      type: 'string',
      secret: true,
      sent_to: [],
      hint: `${scheme}://user:password@host:${port}/database, or use the following fields.`,
    },
    { key: 'host', name: 'Host', type: 'string', hint: `Name or address of the ${name} server.` },
    {
      key: 'port',
      name: 'Port',
      type: 'number',
      integer: true,
      minimum: 1,
      maximum: 65_535,
      default: String(port),
      hint: `Port of the server, usually ${port}.`,
    },
    { key: 'database', name: 'Database', type: 'string', hint: 'Name of the database.' },
    { key: 'user', name: 'User', type: 'string', hint: 'A read-only user is enough.' },
    {
      key: 'password',
      name: 'Password',
      type: 'string',
      secret: true,
      sent_to: ['url', 'host', 'port', 'tls'],
      hint: 'Password of the user.',
    },
    {
      key: 'tls',
      name: 'TLS',
      type: 'choice',
      choices: tlsChoices,
      default: 'verify',
      hint: '`no verify` encrypts without checking the certificate; `off` does not encrypt.',
    },
  ];
}

/** Throws SettingsError. */
export function placeOf(settings: SettingValues, kind: DatabaseKind): DatabasePlace {
  const tls = tlsChoices.find((choice) => choice === textSetting(settings, 'tls', 'verify'));
  if (tls === undefined) throw wrongSetting('tls', `expected ${tlsChoices.join(', ')}`);
  const text = textSetting(settings, 'url').trim();
  if (text !== '') return placeOfUrl(text, tls, kind);
  return {
    host: neededSetting(settings, 'host'),
    port: integerSetting(settings, 'port', { standard: kind.port, min: 1, max: 65_535 }),
    database: neededSetting(settings, 'database'),
    user: neededSetting(settings, 'user'),
    password: textSetting(settings, 'password'),
    tls,
  };
}

function placeOfUrl(text: string, tls: DatabasePlace['tls'], { schemes, port }: DatabaseKind): DatabasePlace {
  const url = URL.parse(text);
  const expected = `expected ${schemes[0]}://user:password@host:${port}/database`;
  const isKnown = url !== null && schemes.includes(url.protocol.slice(0, -1));
  if (!isKnown || url.hostname === '' || url.username === '') throw wrongSetting('url', expected);
  try {
    const user = decodeURIComponent(url.username);
    return {
      host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? port : Number(url.port),
      user,
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)) || user,
      tls: tlsOf(url.searchParams) ?? tls,
    };
  } catch (cause) {
    // An unescaped percent sign; the text itself is a secret.
    throw wrongSetting('url', `${expected}, with % written as %25`, { cause });
  }
}

/** `sslmode` of PostgreSQL, `ssl-mode` of MySQL. */
function tlsOf(parameters: URLSearchParams): DatabasePlace['tls'] | undefined {
  const mode = parameters.get('sslmode') ?? parameters.get('ssl-mode')?.toLowerCase();
  if (mode === 'disable' || mode === 'disabled') return 'off';
  return mode === 'no-verify' ? 'no verify' : undefined;
}
