import { SourceError, SourceWaitError, type SourceContext, type SourceHost } from '../source.ts';
import type { OutboundStreamResponse } from '../../plugins/outbound/outbound.ts';
import { askAgain, createExportApi, readWhole } from './export-api.ts';

export interface ClickhousePlace {
  /** Without a slash at the end. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Both throw SourceError, SourceWaitError, or the signal's reason. */
export interface ClickhouseApi {
  /** The answer is lines of JSON, times in UTC, numbers with all their digits. */
  ask(sql: string, signal: AbortSignal): Promise<OutboundStreamResponse>;
  /** For small answers. */
  rows(sql: string, context: SourceContext): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

const name = 'ClickHouse';
/** A query may work for so long before its first row. */
const idleMs = 1_800_000;
const answerBytesMax = 64 * 1024 * 1024;
/** ClickHouse answers every fault of a query with one of these, and says in a header which it is. */
const answered = [200, 400, 401, 403, 404, 408, 413, 500, 501, 503];

const settings: Readonly<Record<string, string>> = {
  readonly: '2',
  default_format: 'JSONEachRow',
  output_format_json_quote_64bit_integers: '0',
  output_format_json_quote_decimals: '0',
  output_format_json_quote_denormals: '1',
  date_time_output_format: 'iso',
  cancel_http_readonly_queries_on_client_close: '1',
};

export function createClickhouseApi(host: Pick<SourceHost, 'stream' | 'now'>, place: ClickhousePlace): ClickhouseApi {
  const { url, user, password, database } = place;
  const api = createExportApi(host, { name, secrets: password === '' ? [] : [password] });
  const address = `${url}/?${new URLSearchParams({ database, ...settings }).toString()}`;
  const headers = {
    'x-clickhouse-user': user,
    ...(password === '' ? {} : { 'x-clickhouse-key': password }),
    'content-type': 'text/plain; charset=utf-8',
  };
  const ask = async (sql: string, signal: AbortSignal): Promise<OutboundStreamResponse> => {
    const request = { url: address, method: 'POST', headers, body: sql, idleMs, accepted: answered };
    const response = await api.ask(request, signal);
    const code = response.headers['x-clickhouse-exception-code'];
    if (response.status === 200 && code === undefined) return response;
    const { error, words } = await api.refusal(response);
    throw code === undefined ? error : failureOf(Number(code), words);
  };
  return {
    ask,
    rows: (sql, context) =>
      askAgain(context, async () => {
        const { signal } = context;
        const body = await readWhole(await ask(sql, signal), { name, bytesMax: answerBytesMax, signal });
        return body.toString('utf8').split('\n').filter(Boolean).map(parseRow);
      }),
  };
}

function parseRow(line: string): Readonly<Record<string, unknown>> {
  try {
    // Sound: each line of JSONEachRow is an object.
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw new SourceWaitError(`${name}: expected rows, got something else at the end of the answer`, {
      unlimited: false,
      cause,
    });
  }
}

/** Too many queries, out of memory, too slow, a connection or Keeper lost, a quota: another time it may work. */
const passing: ReadonlySet<number> = new Set([159, 160, 201, 202, 203, 209, 210, 241, 242, 252, 279, 425, 439, 999]);
const advice: ReadonlyMap<number, string> = new Map([
  [60, 'check the name of the table and the database'],
  [81, 'check the database'],
  [47, 'check the names of the columns, the cursor column too'],
  [164, 'the user needs readonly = 2, with which it can read and choose the form of the answer, or none'],
  [192, 'check user and password'],
  [193, 'check user and password'],
  [497, 'grant the user select on the tables of the query'],
  [516, 'check user and password'],
]);

function failureOf(code: number, words: string): Error {
  const said = `${name} answers: ${words}`;
  if (passing.has(code)) return new SourceWaitError(said, { unlimited: true });
  const more = advice.get(code);
  return new SourceError(more === undefined ? said : `${said}: ${more}`);
}
