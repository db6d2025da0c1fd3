import { createHmac } from 'node:crypto';

type Headers = Readonly<Record<string, string>>;

/** A GET request with what lets it in. */
export type SignRequest = (url: string, headers: Headers) => { readonly url: string; readonly headers: Headers };

const version = { 'x-ms-version': '2021-12-02' };

/** @param sas without its question mark; empty: nothing is added, for public containers */
export function signBySas(sas: string): SignRequest {
  return (url, headers) => ({
    url: sas === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${sas}`,
    headers: { ...headers, ...version },
  });
}

/** Headers that are signed where they stand, of those that a GET can have, in the order of the scheme. */
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

export interface SharedKeyDeps {
  readonly account: string;
  /** In base64. */
  readonly key: string;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** The scheme Shared Key: everything that says what is asked for is signed. */
export function signBySharedKey({ account, key, now }: SharedKeyDeps): SignRequest {
  return (address, given) => {
    const url = new URL(address);
    const headers: Headers = { ...given, ...version, 'x-ms-date': new Date(now()).toUTCString() };
    const text = [
      'GET',
      ...signedHeaders.map((header) => headers[header] ?? ''),
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
