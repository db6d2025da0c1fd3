/**
 * A test double for BigQuery, built from the documentation of its REST API: tokens of a service account, dry runs, queries that
 * take several requests, pages of results. It executes no SQL: a test gives the schema and the rows of a query.
 */
import { createVerify, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface BigqueryServer extends AsyncDisposable {
  readonly url: string;
  /** JSON key of the service account. */
  readonly keyFile: string;
  schema: readonly object[];
  rows: readonly object[];
  /** What dry runs find. */
  statementType: string;
  /** Requests for the result that find the job still running. */
  pending: number;
  /** The next answers, instead of those of the API. */
  readonly troubles: { readonly status: number; readonly reason: string; readonly message: string }[];
  /** SQL of the queries that ran. */
  readonly ran: string[];
  /** Fewer rows in a page than requested. */
  pageRowsMax: number;
  /** Results that it still has. */
  readonly jobs: Map<string, readonly object[]>;
  readonly asked: string[];
}

const location = 'EU';
const token = 'ya29.token-of-the-account';
const email = 'reader@shop.iam.gserviceaccount.com';
const scope = 'https://www.googleapis.com/auth/bigquery';

type State = Omit<BigqueryServer, 'url' | 'keyFile' | typeof Symbol.asyncDispose>;
type Reply = { readonly status?: number; readonly json: unknown };

export async function startBigqueryServer(): Promise<BigqueryServer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const state: State = {
    schema: [],
    rows: [],
    statementType: 'SELECT',
    pending: 0,
    troubles: [],
    ran: [],
    pageRowsMax: 7,
    jobs: new Map(),
    asked: [],
  };
  const server = createServer((request, response) => {
    void respond(state, publicKey, request).then(({ status = 200, json }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  // Sound: a server that listens on a port has such an address.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const key = {
    type: 'service_account',
    client_email: email,
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    token_uri: `${url}/token`,
  };
  return Object.assign(state, {
    url,
    keyFile: JSON.stringify(key),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  });
}

async function respond(state: State, publicKey: KeyObject, request: IncomingMessage): Promise<Reply> {
  const body = await text(request);
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
  state.asked.push(`${request.method ?? ''} ${pathname}`);
  if (pathname === '/token') return grant(publicKey, new URLSearchParams(body).get('assertion') ?? '');
  const trouble = state.troubles.shift();
  if (trouble !== undefined) return failure(trouble.status, trouble.reason, trouble.message);
  if (request.headers.authorization !== `Bearer ${token}`) return failure(401, 'authError', 'Invalid Credentials');
  const path = pathname.replace('/bigquery/v2/projects/shop/', '');
  if (path === 'jobs') return dryRun(state, JSON.parse(body) as DryRun);
  if (path === 'queries') return start(state, JSON.parse(body) as { query: string });
  return result(state, decodeURIComponent(path.replace('queries/', '')), searchParams);
}

function grant(publicKey: KeyObject, assertion: string): Reply {
  const [head = '', claims = '', signature = ''] = assertion.split('.');
  const isSigned = createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url');
  const given = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  const isRight = isSigned && given['iss'] === email && given['scope'] === scope;
  return isRight ? { json: { access_token: token, expires_in: 3599 } } : failure(400, 'invalid_grant', 'Invalid JWT');
}

interface DryRun {
  readonly configuration: { readonly dryRun: boolean; readonly query: { readonly useLegacySql: boolean } };
}

function dryRun({ statementType, schema }: State, { configuration: { dryRun: isDry, query } }: DryRun): Reply {
  if (!isDry || query.useLegacySql) return failure(400, 'invalid', 'expected a dry run in GoogleSQL');
  return { json: { statistics: { query: { statementType, schema: { fields: schema }, totalBytesProcessed: '1' } } } };
}

function start(state: State, { query }: { readonly query: string }): Reply {
  state.ran.push(query);
  const id = `job_${state.ran.length}`;
  state.jobs.set(id, [...state.rows]);
  return { json: { jobComplete: state.pending === 0, jobReference: { projectId: 'shop', jobId: id, location } } };
}

function result(state: State, id: string, parameters: URLSearchParams): Reply {
  if (parameters.get('location') !== location) return failure(404, 'notFound', `Not found: Job shop:${id}`);
  if (state.pending-- > 0) return { json: { jobComplete: false, jobReference: { jobId: id, location } } };
  const rows = state.jobs.get(id);
  if (rows === undefined) return failure(404, 'notFound', `Not found: Job shop:${id}`);
  const from = Number(parameters.get('startIndex') ?? 0);
  const count = Math.min(Number(parameters.get('maxResults') ?? 0), state.pageRowsMax);
  const page = rows.slice(from, from + count);
  const more = from + count < rows.length && count > 0 ? { pageToken: `page-${from + count}` } : {};
  const found = page.length > 0 ? { rows: page } : {};
  const about = { jobComplete: true, schema: { fields: state.schema }, totalRows: String(rows.length) };
  return { json: { ...about, ...found, ...more } };
}

function failure(status: number, reason: string, message: string): Reply {
  return { status, json: { error: { code: status, message, errors: [{ reason, message, domain: 'global' }] } } };
}
