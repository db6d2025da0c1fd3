import { base64OfBytes, bytesOfBase64 } from '../base64.ts';
import type { LazyDeps } from '../modules.ts';
import { encodeUtf8 } from '../utf8.ts';
import {
  awsError,
  awsRequest,
  createAwsService,
  type AwsOptions,
  type AwsService,
  type Params,
} from './aws-service.ts';

const contentType = 'application/x-amz-json-1.1';
const operations = [
  'describeStream',
  'describeStreamSummary',
  'listShards',
  'listStreams',
  'getShardIterator',
  'getRecords',
  'putRecord',
  'putRecords',
];

/** The part of Kinesis that plugins use: each operation is a method `(params, callback?)`. */
export class KinesisClient {
  readonly #service: AwsService;
  readonly #buffer: (base64: string) => unknown;

  constructor(deps: LazyDeps, options: AwsOptions) {
    this.#service = createAwsService(deps, 'kinesis', options);
    this.#buffer = (base64) => deps.Buffer.from(bytesOfBase64(base64).buffer);
  }

  static async call(client: KinesisClient, operation: string, params: unknown): Promise<unknown> {
    const target = `Kinesis_20131202.${operation.charAt(0).toUpperCase()}${operation.slice(1)}`;
    const response = await client.#service.send({
      method: 'POST',
      path: '/',
      query: {},
      headers: { 'content-type': contentType, 'x-amz-target': target },
      body: JSON.stringify(withBase64(params ?? {})),
    });
    const text = await response.text();
    const answer: unknown = text === '' ? {} : JSON.parse(text);
    if (!response.ok) throw failure(answer, response.status);
    return withBuffers(answer, client.#buffer);
  }
}

const { call } = KinesisClient;
for (const operation of operations) {
  Object.defineProperty(KinesisClient.prototype, operation, {
    value(this: KinesisClient, params: Params, callback?: unknown): object {
      return awsRequest(() => call(this, operation, params), callback);
    },
    writable: true,
    configurable: true,
  });
}

function failure(answer: unknown, status: number): Error {
  const body = typeof answer === 'object' && answer !== null ? answer : {};
  const type = '__type' in body ? String(body.__type).replace(/^.*#/, '') : `Http${status}`;
  const message = 'message' in body ? body.message : 'Message' in body ? body.Message : `Kinesis answered ${status}`;
  return awsError(type, String(message), status);
}

/** `Data` is sent as base64. */
function withBase64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBase64);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === 'Data' ? base64OfBytes(bytesOf(item)) : withBase64(item)]),
  );
}

function bytesOf(item: unknown): Uint8Array {
  return item instanceof Uint8Array ? item : encodeUtf8(String(item));
}

/** `Data` is returned as a Buffer. */
function withBuffers(value: unknown, bytes: (base64: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withBuffers(item, bytes));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'Data' && typeof item === 'string' ? bytes(item) : withBuffers(item, bytes),
    ]),
  );
}
