import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Session } from 'chdb';

/** The engine (chDB) behind as much of ClickHouse's HTTP interface as a source uses, over real HTTP. */
export interface TestClickhouseServer extends AsyncDisposable {
  readonly url: string;
  /** Every statement that came, in order. */
  readonly statements: string[];
  /** A statement without an answer. */
  run(sql: string): Promise<void>;
  /** The next so many requests are answered 503 and 202, too many queries. */
  tooMany(times: number): void;
  /** The next answers of rows end after so many bytes: with a broken connection, with a text, or as if they were whole. */
  breakAfter(bytes: number, how: 'connection' | 'exception' | 'quietly', times?: number): void;
}

interface State {
  /** The one in which the session looks up names without one. */
  database: string;
  busy: number;
  broken: { bytes: number; how: 'connection' | 'exception' | 'quietly'; times: number };
}

/** Every other setting is of the transport. */
const settingsOfQuery = /^(output_format|date_time_output)/;

export async function testClickhouseServer(user: string, password: string): Promise<TestClickhouseServer> {
  const dir = mkdtempSync(join(tmpdir(), 'clickhouse-source-'));
  const session = new Session(join(dir, 'data'));
  const statements: string[] = [];
  const state: State = { database: 'default', busy: 0, broken: { bytes: 0, how: 'connection', times: 0 } };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const sql = await text(request);
    const { searchParams } = new URL(request.url ?? '', 'http://clickhouse');
    statements.push(sql);
    if (state.busy > 0) {
      state.busy -= 1;
      return fail(
        response,
        503,
        'Code: 202. DB::Exception: Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)',
      );
    }
    const { 'x-clickhouse-user': name, 'x-clickhouse-key': key } = request.headers;
    if (name !== user || key !== password) {
      return fail(
        response,
        403,
        `Code: 516. DB::Exception: ${String(name)}: Authentication failed, key ${String(key)}. (AUTHENTICATION_FAILED)`,
      );
    }
    if (searchParams.get('readonly') !== '2') {
      return fail(response, 500, 'Code: 164. DB::Exception: expected a request that can only read. (READONLY)');
    }
    const chosen = [...searchParams].filter(([setting]) => settingsOfQuery.test(setting));
    const settings = chosen.map(([setting, value]) => `${setting} = '${value}'`).join(', ');
    try {
      await useDatabase(session, state, searchParams.get('database') ?? 'default');
      const format = sql.endsWith('format JSONEachRow') ? '' : ' format JSONEachRow';
      const result = await session.queryAsync(`${sql}${format} settings ${settings}`);
      send(state, response, Buffer.from(result.text()), format === '');
    } catch (error) {
      fail(response, 404, error instanceof Error ? error.message : String(error));
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  // Sound: a server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    statements,
    run: async (sql) => void (await session.queryAsync(sql)),
    tooMany: (times) => void (state.busy = times),
    breakAfter: (bytes, how, times = 1) => void (state.broken = { bytes, how, times }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      session.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function useDatabase(session: Session, state: State, database: string): Promise<void> {
  if (database === state.database) return;
  await session.queryAsync(`use ${database}`);
  state.database = database;
}

function send(state: State, response: ServerResponse, body: Buffer, isRows: boolean): void {
  const { bytes, how, times } = state.broken;
  if (!isRows || times === 0) return void response.end(body);
  state.broken.times -= 1;
  const whole = body.subarray(0, body.lastIndexOf('\n', bytes) + 1);
  if (how === 'quietly') return void response.end(whole);
  if (how === 'exception')
    return void response.end(`${whole.toString()}Code: 241. DB::Exception: Memory limit exceeded\n`);
  response.write(body.subarray(0, bytes), () => setTimeout(() => response.destroy(), 20));
}

function fail(response: ServerResponse, status: number, message: string): void {
  const code = /Code: (\d+)/.exec(message)?.[1] ?? '1';
  response.writeHead(status, { 'x-clickhouse-exception-code': code }).end(message);
}
