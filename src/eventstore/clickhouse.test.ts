import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Session } from 'chdb';
import { describe, expect, it } from 'vitest';
import { connectClickhouse } from './clickhouse.ts';
import { eventStoreConformance, insertRows, newProject, testRow } from './conformance.ts';
import { StoreUnavailableError } from './eventstore.ts';
import { explorerConformance } from './explorer-conformance.ts';
import { readsConformance } from './reads-conformance.ts';

/**
 * Real: our adapter, the vendor's client, HTTP, the engine (chDB). Stood in for: the server, which speaks as much of
 * ClickHouse's HTTP protocol as the client uses: settings and `param_*` in the URL or in a multipart body, the statement in
 * the body or, with rows in the body, in the URL; errors as text with status 500.
 */
class StandIn {
  readonly #dir = mkdtempSync(join(tmpdir(), 'clickhouse-stand-in-'));
  readonly #writer = new Session(join(this.#dir, 'data'));
  readonly #reader = new Session(join(this.#dir, 'data'));
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));
  #settled = false;
  #turn: Promise<unknown> = Promise.resolve();
  /** Every statement that came, in order. */
  readonly statements: string[] = [];

  async listen(): Promise<string> {
    await this.#writer.queryAsync('CREATE DATABASE IF NOT EXISTS events_db ENGINE = Atomic');
    await this.#writer.queryAsync('USE events_db');
    await this.#reader.queryAsync('USE events_db');
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    const { port } = this.#server.address() as AddressInfo;
    return `http://millrace:sec-ret@127.0.0.1:${port}/events_db`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
    await this.#turn;
    this.#writer.close();
    this.#reader.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    // One statement at a time keeps the settings of one request from another.
    const turn = this.#turn.then(() => this.#run(request, Buffer.concat(chunks)));
    this.#turn = turn.catch(() => undefined);
    try {
      response.end(await turn);
    } catch (error) {
      response.writeHead(500, { 'x-clickhouse-exception-code': '1' }).end((error as Error).message);
    }
  }

  async #run(request: IncomingMessage, body: Buffer): Promise<string> {
    if (request.headers.authorization !== `Basic ${Buffer.from('millrace:sec-ret').toString('base64')}`) {
      throw new Error('Code: 516. DB::Exception: millrace: Authentication failed. (AUTHENTICATION_FAILED)');
    }
    const url = new URL(request.url ?? '', 'http://127.0.0.1');
    if (url.searchParams.get('database') !== 'events_db') throw new Error('Code: 81. DB::Exception: no database');
    const fields = await formOf(request, body);
    const inUrl = url.searchParams.get('query');
    const sql = inUrl ?? fields?.get('query') ?? body.toString('utf8');
    this.statements.push(sql);
    if (url.searchParams.get('readonly') === '2') return await this.#read(sql, url.searchParams, fields);
    if (inUrl === null) return (await this.#writer.queryAsync(sql)).text();
    const file = join(this.#dir, `${randomUUID()}.native`);
    writeFileSync(file, body);
    const result = await this.#writer.queryAsync(sql.replace(/\)\s+SETTINGS/, `) FROM INFILE '${file}' SETTINGS`));
    return result.text();
  }

  async #read(sql: string, query: URLSearchParams, fields: Map<string, string> | undefined): Promise<string> {
    if (!this.#settled) {
      this.#settled = true;
      for (const name of ['max_execution_time', 'output_format_json_quote_64bit_integers']) {
        await this.#reader.queryAsync(`SET ${name} = ${Number(query.get(name))}`);
      }
      await this.#reader.queryAsync('SET do_not_merge_across_partitions_select_final = 1, readonly = 2');
    }
    const params: Record<string, string | (string | number)[]> = {};
    for (const [name, value] of [...query, ...(fields ?? [])]) {
      if (!name.startsWith('param_')) continue;
      const param = name.slice('param_'.length);
      // The binding escapes again what the client has escaped for the wire.
      params[param] = sql.includes(`{${param}:Array(`) ? elementsOf(value) : unescape(value);
    }
    const chunks: Buffer[] = [];
    for await (const chunk of this.#reader.queryStreamBind(sql, params)) chunks.push(Buffer.from(chunk.raw()));
    return Buffer.concat(chunks).toString('utf8');
  }
}

async function formOf(request: IncomingMessage, body: Buffer): Promise<Map<string, string> | undefined> {
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data')) return undefined;
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  return new Map([...form].map(([name, value]) => [name, String(value)]));
}

/** Elements of an array literal such as `['a\\'b',…]` or `[1,2]`. */
function elementsOf(literal: string): (string | number)[] {
  const elements = literal.slice(1, -1).matchAll(/'((?:[^'\\]|\\.)*)'|[^,]+/gs);
  return [...elements].map(([bare, quoted]) => (quoted === undefined ? Number(bare) : unescape(quoted)));
}

function unescape(text: string): string {
  const named: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', 0: '\u0000', b: '\b', f: '\f' };
  return text.replace(/\\(.)/gs, (_, char: string) => named[char] ?? char);
}

async function open(): Promise<{ store: Awaited<ReturnType<typeof connectClickhouse>>; close(): Promise<void> }> {
  const standIn = new StandIn();
  const store = await connectClickhouse(await standIn.listen());
  return {
    store,
    async close() {
      await store.close();
      await standIn.close();
    },
  };
}

eventStoreConformance('ClickHouse over HTTP', open);
readsConformance('ClickHouse over HTTP', open);
explorerConformance('ClickHouse over HTTP', open);

describe('a ClickHouse server', () => {
  it('that cannot be reached is unavailable, and neither its address nor the password is told', async () => {
    const failure = await connectClickhouse('http://millrace:sec-ret@127.0.0.1:1/events_db').catch((e: unknown) => e);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(String(failure)).not.toMatch(/sec-ret|127\.0\.0\.1/);
    expect(String(failure)).toContain('ECONNREFUSED');
  });

  it.each(['', 'sec-ret', 'ftp://user:sec-ret@host/', 'host:8123/sec-ret'])(
    'refuses the URL %j without repeating it',
    async (url) => {
      const failure = await connectClickhouse(url).catch((e: unknown) => e);
      expect(String(failure)).toContain('expected CLICKHOUSE_URL');
      expect(String(failure)).not.toContain('sec-ret');
    },
  );

  it('that goes away is unavailable: a later insert of the same batch is exact', async () => {
    const standIn = new StandIn();
    const url = await standIn.listen();
    const store = await connectClickhouse(url);
    const project = newProject();
    const rows = [testRow(project)];
    await insertRows(store, 'away', rows);
    await store.close();
    const wrong = await connectClickhouse(url.replace('sec-ret', 'other')).catch((e: unknown) => e);
    expect(wrong).toBeInstanceOf(Error);
    const again = await connectClickhouse(url);
    await insertRows(again, 'away', rows);
    const sql = 'SELECT count() AS c FROM events WHERE project_id = {project:Int32}';
    expect(await again.query(sql, { project })).toEqual([{ c: '1' }]);
    await standIn.close();
    await expect(insertRows(again, 'away', rows)).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(again.query('SELECT 1')).rejects.toBeInstanceOf(StoreUnavailableError);
    expect((await again.health()).ok).toBe(false);
    await again.close();
  });

  it('gets no value of a row or parameter as SQL text', async () => {
    const standIn = new StandIn();
    const store = await connectClickhouse(await standIn.listen());
    await insertRows(store, 'text', [testRow(newProject(), { event: 'CANARY', distinctId: 'CANARY' })]);
    await store.query('SELECT {s:String} AS s', { s: 'CANARY' });
    expect(standIn.statements.join('\n')).not.toContain('CANARY');
    await store.close();
    await standIn.close();
  });
});
