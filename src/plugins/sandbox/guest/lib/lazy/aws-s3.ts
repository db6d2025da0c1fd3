import type { LazyDeps } from '../modules.ts';
import type { Response } from '../response.ts';
import {
  awsError,
  awsRequest,
  createAwsService,
  type AwsOptions,
  type AwsService,
  type Params,
} from './aws-service.ts';
import { encodePart } from './aws-signature.ts';

/** Parameters that become headers of a write request. */
const headerNames: Readonly<Record<string, string>> = {
  ACL: 'x-amz-acl',
  CacheControl: 'cache-control',
  ContentDisposition: 'content-disposition',
  ContentEncoding: 'content-encoding',
  ContentType: 'content-type',
  ServerSideEncryption: 'x-amz-server-side-encryption',
  SSEKMSKeyId: 'x-amz-server-side-encryption-aws-kms-key-id',
  StorageClass: 'x-amz-storage-class',
};

interface Call {
  readonly method: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The part of S3 that plugins use. */
export class S3Client {
  readonly #service: AwsService;
  readonly #options: AwsOptions;

  constructor(deps: LazyDeps, options: AwsOptions) {
    this.#options = options;
    this.#service = createAwsService(deps, 's3', options);
  }

  /** Uploads in one request, whatever the size. */
  upload(params: Params, ...rest: readonly unknown[]): object {
    return awsRequest(() => this.#put(params), rest.at(-1));
  }

  putObject(params: Params, callback?: unknown): object {
    return awsRequest(() => this.#put(params), callback);
  }

  getObject(params: Params, callback?: unknown): object {
    return awsRequest(async () => {
      const response = await this.#call(params, { method: 'GET' });
      return { ...objectFacts(response), Body: await response.buffer() };
    }, callback);
  }

  headObject(params: Params, callback?: unknown): object {
    return awsRequest(async () => objectFacts(await this.#call(params, { method: 'HEAD' })), callback);
  }

  deleteObject(params: Params, callback?: unknown): object {
    return awsRequest(async () => {
      await this.#call(params, { method: 'DELETE' });
      return {};
    }, callback);
  }

  listObjectsV2(params: Params, callback?: unknown): object {
    return awsRequest(async () => {
      const { Prefix, ContinuationToken, MaxKeys, StartAfter, Delimiter } = params;
      const query = definedTexts({
        'list-type': '2',
        prefix: Prefix,
        'continuation-token': ContinuationToken,
        'max-keys': MaxKeys,
        'start-after': StartAfter,
        delimiter: Delimiter,
      });
      const response = await this.#call({ ...params, Key: '' }, { method: 'GET', query });
      return listing(await response.text());
    }, callback);
  }

  async #put(params: Params): Promise<object> {
    const { Body, Bucket, Key } = { ...this.#options.params, ...params };
    const named = Object.entries(headerNames).map(([name, header]) => [header, params[name]]);
    const headers = definedTexts(Object.fromEntries(named));
    const body = Body instanceof Uint8Array ? Body : String(Body ?? '');
    const response = await this.#call(params, { method: 'PUT', body, headers });
    const { protocol, host, path } = this.#address(params);
    const ETag = response.headers.get('etag') ?? undefined;
    return { ETag, Location: `${protocol}//${host}${path}`, Key, key: Key, Bucket };
  }

  /** Puts the bucket into the host name, or into the path if requested or if the name does not allow it. */
  #address(params: Params): { protocol: string; host: string; path: string } {
    const { Bucket, Key } = { ...this.#options.params, ...params };
    const bucket = String(Bucket ?? '');
    if (bucket === '') throw awsError('MissingRequiredParameter', "Missing required key 'Bucket' in params", 0);
    const key = String(Key ?? '')
      .split('/')
      .map(encodePart)
      .join('/');
    const { protocol, host } = this.#service.origin;
    const inPath = this.#options.s3ForcePathStyle === true || !/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(bucket);
    if (inPath) return { protocol, host, path: `/${encodePart(bucket)}${key === '' ? '' : `/${key}`}` };
    return { protocol, host: `${bucket}.${host}`, path: `/${key}` };
  }

  async #call(params: Params, { method, query = {}, body = '', headers = {} }: Call): Promise<Response> {
    const { host, path } = this.#address(params);
    const response = await this.#service.send({ method, host, path, query, headers, body });
    if (response.ok) return response;
    const text = await response.text();
    const code = tag(text, 'Code') ?? (response.status === 404 ? 'NotFound' : `Http${response.status}`);
    throw awsError(code, tag(text, 'Message') ?? `S3 answered ${response.status}`, response.status);
  }
}

function definedTexts(given: Readonly<Record<string, unknown>>): Record<string, string> {
  const defined = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return Object.fromEntries(defined.map(([name, value]) => [name, String(value)]));
}

function objectFacts(response: Response): Record<string, unknown> {
  return {
    ETag: response.headers.get('etag') ?? undefined,
    ContentType: response.headers.get('content-type') ?? undefined,
    ContentLength: Number(response.headers.get('content-length') ?? 0),
    LastModified: new Date(response.headers.get('last-modified') ?? Number.NaN),
  };
}

/** Returns the text of the first element with that name. */
function tag(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined ? undefined : unescapeXml(text);
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescapeXml(text: string): string {
  return text.replace(/&(?:(lt|gt|quot|apos|amp)|#(\d+)|#x([0-9a-f]+));/gi, (_all, name, decimal, hex) =>
    name ? (entities[String(name)] ?? '') : String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16)),
  );
}

function listing(xml: string): object {
  const items = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, item = '']) => ({
    Key: tag(item, 'Key'),
    ETag: tag(item, 'ETag'),
    Size: Number(tag(item, 'Size') ?? 0),
    LastModified: new Date(tag(item, 'LastModified') ?? Number.NaN),
  }));
  return {
    Contents: items,
    KeyCount: items.length,
    IsTruncated: tag(xml, 'IsTruncated') === 'true',
    NextContinuationToken: tag(xml, 'NextContinuationToken'),
  };
}
