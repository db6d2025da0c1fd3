/**
 * A test double for Snowflake, built from the documentation of its SQL API: tokens of a key pair, statements that take several
 * requests, partitions in gzip, results that expire. It executes no SQL: a test gives the columns and the partitions.
 */
import { createHash, createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

type Partition = readonly (readonly (string | null)[])[];

export interface SnowflakeServer extends AsyncDisposable {
  readonly url: string;
  /** PEM. The user has its public key. */
  privateKey: string;
  columns: readonly { readonly name: string; readonly type: string; readonly scale?: number }[];
  partitions: readonly Partition[];
  /** Requests that find the statement still running. */
  pending: number;
  /** Tokens issued before this time (s) have expired. */
  notBefore: number;
  /** The next answers, instead of those of the API. */
  readonly troubles: { readonly status: number; readonly code: string; readonly message: string }[];
  /** Bodies of the statements that ran. */
  readonly ran: Readonly<Record<string, unknown>>[];
  /** Results that it still has. */
  readonly results: Map<string, readonly Partition[]>;
}

type State = Omit<SnowflakeServer, 'url' | typeof Symbol.asyncDispose> & {
  /** Handles by the id of their request: a repetition runs nothing. */
  readonly requests: Map<string, string>;
};
type Reply = { readonly status: number; readonly json: unknown; readonly isPacked?: boolean };

export async function startSnowflakeServer(): Promise<SnowflakeServer> {
  const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const state: State = {
    privateKey: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    columns: [],
    partitions: [],
    pending: 0,
    notBefore: 0,
    troubles: [],
    ran: [],
    results: new Map(),
    requests: new Map(),
  };
  const server = createServer((request, response) => {
    void respond(state, request).then(({ status, json, isPacked = false }) => {
      const body = JSON.stringify(json);
      const headers = { 'content-type': 'application/json', ...(isPacked && { 'content-encoding': 'gzip' }) };
      response.writeHead(status, headers).end(isPacked ? gzipSync(body) : body);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  // Sound: a server that listens on a port has such an address.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    url,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  });
}

async function respond(state: State, request: IncomingMessage): Promise<Reply> {
  const body = await text(request);
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
  const trouble = state.troubles.shift();
  if (trouble !== undefined) return failure(trouble.status, trouble.code, trouble.message);
  if (!isSignedIn(state, request)) return failure(401, '390144', 'JWT token is invalid.');
  if (request.method === 'POST') return start(state, searchParams, JSON.parse(body) as Record<string, unknown>);
  const handle = pathname.replace('/api/v2/statements/', '');
  if (state.pending-- > 0) return running(handle);
  return result(state, handle, searchParams.get('partition'));
}

function isSignedIn({ notBefore, privateKey }: State, { headers }: IncomingMessage): boolean {
  if (headers['x-snowflake-authorization-token-type'] !== 'KEYPAIR_JWT' || !headers['user-agent']) return false;
  const [head = '', claims = '', signature = ''] = (headers.authorization ?? '').replace('Bearer ', '').split('.');
  const publicKey = createPublicKey(privateKey);
  const isSigned = createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url');
  const print = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64');
  const { iss, sub, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  const isWithin = Number(exp) - Number(iat) <= 3600 && Number(iat) >= notBefore;
  return isSigned && isWithin && sub === 'XY12345.IMPORTER' && iss === `XY12345.IMPORTER.SHA256:${print}`;
}

function start(state: State, parameters: URLSearchParams, body: Record<string, unknown>): Reply {
  const requestId = parameters.get('requestId') ?? '';
  const known = state.requests.get(requestId);
  if (known !== undefined)
    return parameters.get('retry') === 'true' ? running(known) : failure(400, '391919', 'duplicate');
  state.ran.push(body);
  const handle = `01b2-${state.ran.length}`;
  state.requests.set(requestId, handle);
  state.results.set(handle, String(body['statement']).endsWith('limit 0') ? [] : state.partitions);
  return running(handle);
}

function running(handle: string): Reply {
  const message = 'Asynchronous execution in progress.';
  return { status: 202, json: { code: '333334', message, statementHandle: handle } };
}

function result({ results, columns }: State, handle: string, partition: string | null): Reply {
  const partitions = results.get(handle);
  if (partitions === undefined) return failure(422, '000709', `Statement ${handle} not found`);
  if (partition !== null) return { status: 200, json: { data: partitions[Number(partition)] }, isPacked: true };
  const numRows = partitions.reduce((sum, rows) => sum + rows.length, 0);
  const partitionInfo = partitions.map((rows) => ({ rowCount: rows.length, uncompressedSize: 1 }));
  const resultSetMetaData = { numRows, format: 'jsonv2', partitionInfo, rowType: columns };
  return {
    status: 200,
    json: { resultSetMetaData, data: partitions[0] ?? [], code: '090001', statementHandle: handle },
  };
}

function failure(status: number, code: string, message: string): Reply {
  return { status, json: { code, message, sqlState: '02000' } };
}
