import { randomUUID } from 'node:crypto';
import { isObject } from '../../base/json.ts';
import { sleep as standardSleep } from '../../base/retry.ts';
import { SourceError, SourceWaitError, type SourceContext } from '../source.ts';
import { askAgain, readWhole, type ExportApi } from './export-api.ts';
import { columnsOf, type SnowflakeColumn } from './snowflake-rows.ts';
import { ResultGoneError } from './stored-results.ts';

export interface SnowflakeDeps {
  readonly api: ExportApi;
  readonly token: { token(): string; forget(): void };
  /** Without a trailing slash. */
  readonly url: string;
  /** Where a statement runs: warehouse, role, database, schema; only those that are set. */
  readonly place: Readonly<Record<string, string>>;
}

export interface SnowflakeResult {
  readonly handle: string;
  readonly columns: readonly SnowflakeColumn[];
  /** Number of rows of each partition. */
  readonly partitions: readonly number[];
}

export const name = 'Snowflake';
const partitionBytesMax = 512 * 1024 * 1024;
const statementSeconds = 3600;
const firstPollMs = 500;
const pollMsMax = 10_000;
/** Snowflake keeps results for a day. */
const expired: ReadonlySet<string> = new Set(['000709', '002140', '391918']);

/** Runs a statement and waits for its end. */
export async function runStatement(deps: SnowflakeDeps, sql: string, context: SourceContext): Promise<SnowflakeResult> {
  // Snowflake recognises a repeated request by this id, and does not run the statement again.
  const requestId = randomUUID();
  let isRepeated = false;
  const started = await askAgain(context, () => {
    const query = new URLSearchParams({ requestId, async: 'true', ...(isRepeated && { retry: 'true' }) });
    isRepeated = true;
    const parameters = { timezone: 'UTC', binary_output_format: 'HEX', client_result_chunk_size: '48' };
    const body = { statement: sql, timeout: statementSeconds, ...deps.place, parameters };
    return request(deps, { path: `?${query.toString()}`, body: JSON.stringify(body) }, context);
  });
  const handle = started['statementHandle'];
  if (typeof handle !== 'string') {
    throw new SourceWaitError(`${name}: expected the handle of a statement, got none`, { unlimited: false });
  }
  return await findResult(deps, handle, context);
}

/** Waits for the end of a statement. Throws ResultGoneError if Snowflake no longer has its result. */
export async function findResult(
  deps: SnowflakeDeps,
  handle: string,
  context: SourceContext,
): Promise<SnowflakeResult> {
  for (let waitMs = firstPollMs; ; waitMs = Math.min(pollMsMax, waitMs * 2)) {
    const page = await askAgain(context, () => request(deps, { path: `/${encodeURIComponent(handle)}` }, context));
    const found = resultOf(page, handle);
    if (found !== undefined) return found;
    await pause(waitMs, context);
  }
}

/** Reads one partition. Throws ResultGoneError if Snowflake no longer has it. */
export async function readPartition(
  deps: SnowflakeDeps,
  handle: string,
  partition: number,
  context: SourceContext,
): Promise<readonly unknown[]> {
  const path = `/${encodeURIComponent(handle)}?partition=${partition}`;
  const { data } = await askAgain(context, () => request(deps, { path }, context));
  if (Array.isArray(data)) return data;
  throw new SourceWaitError(`${name}: expected the rows of a partition, got none`, { unlimited: false });
}

/** `undefined` while the statement runs. */
function resultOf(page: Page, handle: string): SnowflakeResult | undefined {
  const about = page['resultSetMetaData'];
  if (!isObject(about)) return undefined;
  const info: readonly unknown[] = Array.isArray(about['partitionInfo']) ? about['partitionInfo'] : [];
  const partitions = info.map((each) => (isObject(each) ? Number(each['rowCount'] ?? 0) : 0));
  const total = Number(about['numRows'] ?? 0);
  const sum = partitions.reduce((all, rows) => all + rows, 0);
  if (sum !== total) {
    const text = `${name}: expected partitions with ${total} rows together, got ${sum}`;
    throw new SourceWaitError(text, { unlimited: false });
  }
  return { handle, columns: columnsOf(about['rowType']), partitions };
}

type Page = Readonly<Record<string, unknown>>;

async function request(
  deps: SnowflakeDeps,
  { path, body }: { readonly path: string; readonly body?: string },
  context: SourceContext,
): Promise<Page> {
  const { signal } = context;
  const response = await deps.api.ask(
    {
      url: `${deps.url}/api/v2/statements${path}`,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'user-agent': 'millrace',
        authorization: `Bearer ${deps.token.token()}`,
        'x-snowflake-authorization-token-type': 'KEYPAIR_JWT',
      },
      ...(body !== undefined && { body }),
      accepted: [200, 202, 400, 401, 403, 404, 408, 422],
    },
    signal,
  );
  const bytes = await readWhole(response, { name, bytesMax: partitionBytesMax, signal });
  const page = objectOf(bytes);
  if ((response.status === 200 || response.status === 202) && page !== undefined) return page;
  throw failureOf(deps, response.status, page, body === undefined);
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

function failureOf(deps: SnowflakeDeps, status: number, page: Page | undefined, isResult: boolean): Error {
  const code = typeof page?.['code'] === 'string' ? page['code'] : '';
  const words = typeof page?.['message'] === 'string' ? page['message'].replaceAll(/\s+/g, ' ').slice(0, 300) : '';
  const message = `${name} responded ${status}${words === '' ? '' : `: ${words}`}${code === '' ? '' : ` (${code})`}`;
  if (isResult && (status === 404 || expired.has(code))) return new ResultGoneError(message);
  if (status === 200 || status === 202) {
    return new SourceWaitError(`${name}: expected a response in JSON, got something else`, { unlimited: false });
  }
  if (status === 401) {
    // An expired token is signed again; a wrong one fails a few times.
    deps.token.forget();
    const advice = 'check account, user and key (alter user … set rsa_public_key), and the clock of this machine';
    return new SourceWaitError(`${message}; ${advice}`, { unlimited: false });
  }
  if (status === 408) {
    const advice = 'import a shorter time range, or use a larger warehouse';
    return new SourceError(`${message}; ${advice}`);
  }
  return new SourceError(status === 403 ? `${message}; check the role and what it may read` : message);
}

async function pause(waitMs: number, { signal, sleep = standardSleep }: SourceContext): Promise<void> {
  await sleep(waitMs, signal).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
}
