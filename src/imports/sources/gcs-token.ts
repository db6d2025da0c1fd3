import { createSign } from 'node:crypto';
import { objectIn } from '../../base/json.ts';
import { SourceError, type SourceContext, type SourceHost } from '../source.ts';
import { wrongSetting } from '../../plugins/plugin.ts';
import { askAgain, createExportApi, readWhole } from './export-api.ts';

/** Returns the token for a request; `undefined` for a public bucket. */
export type GcsToken = (context: SourceContext) => Promise<string | undefined>;

/** A service account from its key file. */
interface ServiceAccount {
  readonly email: string;
  readonly privateKey: string;
  readonly tokenUrl: string;
}

const readScope = 'https://www.googleapis.com/auth/devstorage.read_only';
export const writeScope = 'https://www.googleapis.com/auth/devstorage.read_write';
const lifetimeMs = 3_600_000;
/** A token is renewed this long before it expires. */
const earlyMs = 300_000;
const answerBytesMax = 65_536;

/** @throws SettingsError for an invalid key */
export function tokenOfServiceAccount(
  host: Pick<SourceHost, 'stream' | 'now'>,
  keyFile: string,
  scope = readScope,
): GcsToken {
  const account = serviceAccountOf(keyFile);
  const name = 'the tokens of Google Cloud';
  const api = createExportApi(host, { name, secrets: [] });
  let token: { readonly text: string; readonly until: number } | undefined;
  return async (context) => {
    if (token !== undefined && host.now() < token.until) return token.text;
    const { signal } = context;
    const issuedAt = host.now();
    const text = await askAgain(context, async () => {
      const body = new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: assertionOf(account, scope, issuedAt),
      });
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const request = { url: account.tokenUrl, method: 'POST', headers, body: body.toString() };
      const answer = await readWhole(await api.ask(request, signal), { name, bytesMax: answerBytesMax, signal });
      const given = objectIn(answer.toString('utf8'))?.['access_token'];
      if (typeof given === 'string' && given !== '') return given;
      throw new SourceError(`expected a token from ${account.tokenUrl}, got none: check the key file`);
    });
    token = { text, until: issuedAt + lifetimeMs - earlyMs };
    return text;
  };
}

/**
 * Uses the credentials chain of Google's client: GOOGLE_APPLICATION_CREDENTIALS, gcloud's login, the machine's service account.
 */
export function tokenOfMachine(): GcsToken {
  let client: Promise<{ getAccessToken(): Promise<string | null | undefined> }> | undefined;
  return async () => {
    client ??= import('google-auth-library').then(({ GoogleAuth }) => new GoogleAuth({ scopes: readScope }));
    try {
      const token = await (await client).getAccessToken();
      if (typeof token === 'string') return token;
    } catch (cause) {
      throw new SourceError(`${noCredentials}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
    throw new SourceError(noCredentials);
  };
}

const noCredentials =
  'this machine has no credentials for Google Cloud; log in with "gcloud auth application-default login", or give a key file';

function serviceAccountOf(keyFile: string): ServiceAccount {
  const { type, client_email: email, private_key: privateKey, token_uri: tokenUrl } = objectIn(keyFile) ?? {};
  const isKey = typeof email === 'string' && typeof privateKey === 'string' && typeof tokenUrl === 'string';
  if (type === 'service_account' && isKey && /^https?:\/\//.test(tokenUrl)) return { email, privateKey, tokenUrl };
  throw wrongSetting(
    'key_file',
    'expected the JSON of a service account key, with client_email, private_key and token_uri',
  );
}

function assertionOf({ email, privateKey, tokenUrl }: ServiceAccount, scope: string, nowMs: number): string {
  const issued = Math.floor(nowMs / 1000);
  const claims = { iss: email, scope, aud: tokenUrl, iat: issued, exp: issued + lifetimeMs / 1000 };
  const text = [{ alg: 'RS256', typ: 'JWT' }, claims].map((part) => base64url(JSON.stringify(part))).join('.');
  try {
    return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
  } catch (cause) {
    // The engine's message is not shown: it may contain a part of the key.
    throw new SourceError('the private key of the key file cannot be used: expected PEM, as Google gives it', {
      cause,
    });
  }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
