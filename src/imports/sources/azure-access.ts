import { createHmac } from 'node:crypto';
import { wrongSetting } from '../../plugins/plugin.ts';

/** Authorisation of requests to Azure Blob Storage. */

type Headers = Readonly<Record<string, string>>;

export interface AzureRequest {
  readonly url: string;
  readonly headers: Headers;
  /** Default: GET. */
  readonly method?: string;
  /** Size of the body. */
  readonly bytes?: number;
}

/** Adds authorisation to a request. */
export type SignRequest = (request: AzureRequest) => { readonly url: string; readonly headers: Headers };

export interface AzureCredentials {
  readonly account: string;
  /** With or without its question mark. Empty for public containers, or with a key. */
  readonly sas: string;
  /** In base64; empty for none. */
  readonly key: string;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** @throws SettingsError for credentials that cannot be valid */
export function azureAccess({ account, sas: given, key: givenKey, now }: AzureCredentials): {
  readonly sign: SignRequest;
  readonly secrets: readonly string[];
} {
  const sas = given.trim().replace(/^\?/, '');
  const key = givenKey.trim();
  if (sas !== '' && key !== '') throw wrongSetting('sas_token', 'expected it or "account_key", not both');
  if (key === '') {
    const signature = new URLSearchParams(sas).get('sig');
    if (sas !== '' && signature === null)
      throw wrongSetting('sas_token', 'expected a token with sig=…, as Azure gives it');
    return { sign: signBySas(sas), secrets: signature === null ? [] : [sas, signature] };
  }
  if (!/^[A-Za-z0-9+/]{20,}={0,2}$/.test(key))
    throw wrongSetting('account_key', 'expected the key of the account, in base64');
  return { sign: signBySharedKey({ account, key, now }), secrets: [key] };
}

const version = { 'x-ms-version': '2021-12-02' };

/** @param sas without its question mark; empty for public containers */
function signBySas(sas: string): SignRequest {
  return ({ url, headers }) => ({
    url: sas === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${sas}`,
    headers: { ...headers, ...version },
  });
}

/** Signed headers, in the order of the scheme. */
const signedHeaders = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
];

interface SharedKeyDeps {
  readonly account: string;
  /** In base64. */
  readonly key: string;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** Signs requests with the scheme Shared Key, which covers everything that identifies the request. */
function signBySharedKey({ account, key, now }: SharedKeyDeps): SignRequest {
  return ({ url: address, headers: given, method = 'GET', bytes = 0 }) => {
    const url = new URL(address);
    const headers: Headers = { ...given, ...version, 'x-ms-date': new Date(now()).toUTCString() };
    const text = [
      method,
      // Set by the client when it sends the body.
      ...signedHeaders.map((header) =>
        header === 'content-length' && bytes > 0 ? String(bytes) : (headers[header] ?? ''),
      ),
      ...Object.keys(headers)
        .filter((header) => header.startsWith('x-ms-'))
        .toSorted()
        .map((header) => `${header}:${headers[header] ?? ''}`),
      `/${account}${url.pathname}`,
      ...[...url.searchParams].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([query, value]) => `${query}:${value}`),
    ].join('\n');
    const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
    return { url: url.href, headers: { ...headers, authorization: `SharedKey ${account}:${signature}` } };
  };
}
