import { callLater, isCallback } from '../call-later.ts';
import type { LazyDeps } from '../modules.ts';
import type { Response } from '../response.ts';
import { queryText, signedHeaders, type AwsRequest, type DigestMaker } from './aws-signature.ts';

/** The options of a client: `new S3({ … })`. */
export interface AwsOptions {
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly sessionToken?: string;
  readonly credentials?: Pick<AwsOptions, 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>;
  readonly region?: string;
  readonly endpoint?: unknown;
  readonly s3ForcePathStyle?: boolean;
  readonly params?: Readonly<Record<string, unknown>>;
}

export type Params = Readonly<Record<string, unknown>>;

export interface AwsService {
  readonly region: string;
  /** Protocol (`https:` unless the endpoint states one) and host of the endpoint, by default the service's own. */
  readonly origin: { readonly protocol: string; readonly host: string };
  send(request: Omit<AwsRequest, 'host'> & { readonly host?: string }): Promise<Response>;
}

export function createAwsService(
  { bridge, fetch, require, URL }: LazyDeps,
  service: string,
  options: AwsOptions,
): AwsService {
  const region = options.region ?? 'us-east-1';
  const endpoint = endpointOf(options.endpoint);
  const url = endpoint === undefined ? undefined : new URL(endpoint);
  const origin = { protocol: url?.protocol ?? 'https:', host: url?.host ?? `${service}.${region}.amazonaws.com` };
  return {
    region,
    origin,
    send: async (given) => {
      const { accessKeyId, secretAccessKey, sessionToken } = { ...options, ...options.credentials };
      if (!accessKeyId || !secretAccessKey) {
        throw awsError('CredentialsError', `expected accessKeyId and secretAccessKey for ${service}, got none`, 0);
      }
      const request = { ...given, host: given.host ?? origin.host };
      const crypto = require('crypto') as DigestMaker;
      const scope = { region, service, now: bridge.now() };
      const headers = signedHeaders(crypto, request, { accessKeyId, secretAccessKey, sessionToken }, scope);
      const query = queryText(request.query);
      const address = `${origin.protocol}//${request.host}${request.path}${query === '' ? '' : `?${query}`}`;
      const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
      return fetch(address, { method: request.method, headers, ...(hasBody && { body: request.body }) });
    },
  };
}

/** Accepts text, with or without a protocol, or an AWS.Endpoint. */
function endpointOf(given: unknown): string | undefined {
  const href: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, 'href') : given;
  if (href === undefined || href === null || href === '') return undefined;
  const text = String(href);
  return /^https?:\/\//.test(text) ? text : `https://${text}`;
}

/** As in the SDK: `name` and `code` are the service's. */
export function awsError(code: string, message: string, statusCode: number): Error {
  const error = Object.assign(new Error(message), {
    code,
    statusCode,
    retryable: statusCode === 429 || statusCode >= 500,
  });
  error.name = code;
  return error;
}

/** An AWS.Request: starts immediately with a callback, otherwise with `promise()` or `send()`. */
export function awsRequest(work: () => Promise<unknown>, callback: unknown): object {
  if (isCallback(callback)) void callLater(callback, work);
  return {
    promise: work,
    send: (later?: unknown) => {
      void callLater(isCallback(later) ? later : () => undefined, work);
    },
  };
}
