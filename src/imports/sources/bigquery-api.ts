import { randomUUID } from 'node:crypto';
import { isObject, type JsonObject } from '../../base/json.ts';
import { SourceError, SourceWaitError, type SourceContext } from '../source.ts';
import { askAgain, readWhole, type ExportApi } from './export-api.ts';
import { fieldsOf, type BigqueryField } from './bigquery-rows.ts';
import type { GcsToken } from './gcs-token.ts';
import { ResultGoneError } from './stored-results.ts';

export interface BigqueryDeps {
  readonly api: ExportApi;
  readonly token: GcsToken;
  /** Without a trailing slash. */
  readonly endpoint: string;
  readonly project: string;
  /** Where datasets are: `EU`, `europe-west3`; empty lets BigQuery find it. */
  readonly location: string;
}

/** A job, whose result is kept for about a day. */
export interface BigqueryJob {
  readonly id: string;
  readonly location: string;
}

export interface ResultPage {
  readonly fields: readonly BigqueryField[];
  readonly rows: readonly unknown[];
  readonly total: number;
  /** Empty after the last page. */
  readonly next: string;
  /** Size of the response. */
  readonly bytes: number;
}

export const name = 'BigQuery';
const pageBytesMax = 128 * 1024 * 1024;
/** How long one request waits for a query. */
const waitMs = 30_000;
const json = { 'content-type': 'application/json' };

/** Returns the columns of a query, without running it. Throws SourceError if it does more than read. */
export async function describeQuery(
  deps: BigqueryDeps,
  query: string,
  context: SourceContext,
): Promise<readonly BigqueryField[]> {
  const body = {
    configuration: { dryRun: true, query: { query, useLegacySql: false } },
    ...(deps.location !== '' && { jobReference: { projectId: deps.project, location: deps.location } }),
  };
  const { page } = await ask(deps, { path: 'jobs', method: 'POST', body }, context);
  const statistics = isObject(page['statistics']) ? page['statistics']['query'] : undefined;
  const { statementType, schema } = isObject(statistics) ? statistics : {};
  if (statementType === 'SELECT') return fieldsOf(schema);
  throw new SourceError(`expected a query that only reads (SELECT), got ${String(statementType)}`);
}

/** Runs a query and waits for its end. */
export async function runQuery(deps: BigqueryDeps, query: string, context: SourceContext): Promise<BigqueryJob> {
  // Repeating the request with this id returns the same job.
  const requestId = randomUUID();
  const body = {
    query,
    useLegacySql: false,
    timeoutMs: waitMs,
    maxResults: 0,
    requestId,
    ...(deps.location !== '' && { location: deps.location }),
  };
  const { page } = await ask(deps, { path: 'queries', method: 'POST', body }, context);
  const job = jobOf(page['jobReference']);
  let isDone = page['jobComplete'] === true;
  while (!isDone) {
    context.signal.throwIfAborted();
    const next = await requestResult(deps, job, { maxResults: '0', timeoutMs: String(waitMs) }, context);
    isDone = next.page['jobComplete'] === true;
  }
  return job;
}

/** Reads rows from `start` on, at most `rows`. Throws SourceError; `isGone` finds out whether the result has expired. */
export async function readPage(
  deps: BigqueryDeps,
  job: BigqueryJob,
  at: { readonly start: number; readonly rows: number },
  context: SourceContext,
): Promise<ResultPage> {
  const { page, bytes } = await requestResult(
    deps,
    job,
    { startIndex: String(at.start), maxResults: String(at.rows), 'formatOptions.useInt64Timestamp': 'true' },
    context,
  );
  return {
    fields: fieldsOf(page['schema']),
    rows: Array.isArray(page['rows']) ? page['rows'] : [],
    total: Number(page['totalRows'] ?? 0),
    next: typeof page['pageToken'] === 'string' ? page['pageToken'] : '',
    bytes,
  };
}

function requestResult(
  deps: BigqueryDeps,
  { id, location }: BigqueryJob,
  parameters: Readonly<Record<string, string>>,
  context: SourceContext,
): Promise<Answer> {
  const query = new URLSearchParams({ ...parameters, ...(location !== '' && { location }) });
  return ask(deps, { path: `queries/${encodeURIComponent(id)}?${query.toString()}`, method: 'GET' }, context);
}

type Page = Readonly<Record<string, unknown>>;

interface Answer {
  readonly page: Page;
  readonly bytes: number;
}

interface Request {
  /** Within the project. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly body?: JsonObject;
}

function ask(deps: BigqueryDeps, request: Request, context: SourceContext): Promise<Answer> {
  return askAgain(context, () => askOnce(deps, request, context));
}

async function askOnce(deps: BigqueryDeps, { path, method, body }: Request, context: SourceContext): Promise<Answer> {
  const { signal } = context;
  const token = await deps.token(context);
  const response = await deps.api.ask(
    {
      url: `${deps.endpoint}/bigquery/v2/projects/${encodeURIComponent(deps.project)}/${path}`,
      method,
      headers: { ...json, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      accepted: [200, 400, 403, 404, 500, 503],
    },
    signal,
  );
  const bytes = await readWhole(response, { name, bytesMax: pageBytesMax, signal });
  const page = objectOf(bytes);
  if (response.status === 200 && page !== undefined) return { page, bytes: bytes.length };
  throw failureOf(response.status, page, method === 'GET');
}

function objectOf(bytes: Buffer): Page | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    // A page of a proxy, or cut off: the caller reports it with the status.
    return undefined;
  }
}

/** https://cloud.google.com/bigquery/docs/error-messages */
const passing: ReadonlySet<string> = new Set([
  'backendError',
  'internalError',
  'jobBackendError',
  'jobInternalError',
  'jobRateLimitExceeded',
  'rateLimitExceeded',
]);
const advice: ReadonlyMap<string, string> = new Map([
  ['accessDenied', 'the service account needs the roles BigQuery Job User and BigQuery Data Viewer'],
  ['responseTooLarge', 'import a shorter time range, or export the table to a bucket as Parquet and import that'],
  ['notFound', 'check the names of project, dataset and table, and the location'],
]);

function failureOf(status: number, page: Page | undefined, isResult: boolean): SourceError | SourceWaitError {
  const error = isObject(page?.['error']) ? page['error'] : {};
  const [first] = Array.isArray(error['errors']) ? (error['errors'] as readonly unknown[]).filter(isObject) : [];
  const reason = String(first?.['reason'] ?? '');
  const words = typeof error['message'] === 'string' ? error['message'].replaceAll(/\s+/g, ' ').slice(0, 300) : '';
  const message = `${name} responded ${status}${words === '' ? '' : `: ${words}`}${reason === '' ? '' : ` (${reason})`}`;
  if (status >= 500 || passing.has(reason)) return new SourceWaitError(message, { unlimited: true });
  if (status === 200) {
    return new SourceWaitError(`${name}: expected a response in JSON, got something else`, { unlimited: false });
  }
  if (isResult && status === 404) return new ResultGoneError(message);
  const more = advice.get(reason);
  return new SourceError(more === undefined ? message : `${message}; ${more}`);
}

function jobOf(reference: unknown): BigqueryJob {
  const { jobId, location = '' } = isObject(reference) ? reference : {};
  if (typeof jobId === 'string' && typeof location === 'string') return { id: jobId, location };
  throw new SourceWaitError(`${name}: expected the id of a job, got none`, { unlimited: false });
}
