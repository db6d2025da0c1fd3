import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Session } from 'chdb';
import { backgroundArgs } from '../../src/stores/events/chdb/open-engine.ts';

/**
 * Real: our adapter, the vendor's client, HTTP, the engine (chDB). Stood in for: the server, which speaks as much of
 * ClickHouse's HTTP protocol as the client uses: settings and `param_*` in the URL or in a multipart body, the statement in
 * the body or, with rows in the body, in the URL; errors as text with status 500.
 *
 * A cluster is a database for each shard in the one engine. What replicates is taken out of statements before the engine has them
 * (it has no Keeper): all addresses of a shard lead to the same database. With one shard reads go through the engine's real
 * Distributed table, with several through a Merge table, since this engine reaches no server but itself.
 */
export interface StandInOptions {
  /** 0: one server without a cluster. */
  readonly shards?: number;
  /** Addresses of each shard. */
  readonly replicas?: number;
}

export const standInCluster = 'stand_in';
const credentials = 'millrace:sec-ret';
const database = 'events_db';

const readSettings = [
  'max_execution_time',
  'output_format_json_quote_64bit_integers',
  'do_not_merge_across_partitions_select_final',
  'skip_unavailable_shards',
  'load_balancing',
  'use_hedged_requests',
  'distributed_replica_error_half_life',
  'max_replica_delay_for_distributed_queries',
  'fallback_to_stale_replicas_for_distributed_queries',
  'distributed_product_mode',
  'optimize_skip_unused_shards',
];

interface Shard {
  readonly name: string;
  readonly writer: Session;
  readonly reader: Session;
  settled: boolean;
}

export class ClickhouseStandIn {
  readonly #dir = mkdtempSync(join(tmpdir(), 'clickhouse-stand-in-'));
  readonly #isCluster: boolean;
  readonly #shards: readonly Shard[];
  /** By shard and replica. */
  readonly #servers: readonly (readonly Server[])[];
  #turn: Promise<unknown> = Promise.resolve();
  /** Every statement that came, in order. */
  readonly statements: string[] = [];
  /** What a `SYSTEM SYNC REPLICA` of this table waits for at a replica; an error is its refusal. Here all have all rows at once. */
  caughtUp: (table: string, host: string) => Promise<void> = async () => undefined;

  constructor({ shards = 0, replicas = 1 }: StandInOptions = {}) {
    this.#isCluster = shards > 0;
    const config = join(this.#dir, 'config.xml');
    writeFileSync(config, clusterConfig(Math.max(shards, 1)));
    const open = (): Session =>
      new Session(join(this.#dir, 'data'), {
        connectionArgs: [...(this.#isCluster ? [`--config-file=${config}`] : []), ...backgroundArgs()],
      });
    this.#shards = Array.from({ length: Math.max(shards, 1) }, (_, at) => ({
      name: this.#isCluster ? `shard_${at + 1}` : database,
      writer: open(),
      reader: open(),
      settled: false,
    }));
    this.#servers = this.#shards.map((shard) =>
      Array.from({ length: replicas }, () =>
        createServer((request, response) => void this.#answer(shard, request, response)),
      ),
    );
  }

  async listen(): Promise<string> {
    for (const { name, writer, reader } of this.#shards) {
      await writer.queryAsync(`CREATE DATABASE IF NOT EXISTS ${name} ENGINE = Atomic`);
      await writer.queryAsync(`USE ${name}`);
      await reader.queryAsync(`USE ${name}`);
    }
    for (const server of this.#servers.flat()) {
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    }
    return `http://${credentials}@${this.#hosts()[0]?.[0]}/${database}`;
  }

  /** For MILLRACE_CLICKHOUSE_REPLICAS. */
  get replicas(): string {
    return this.#hosts()
      .map((hosts) => hosts.join(','))
      .join(';');
  }

  #hosts(): string[][] {
    return this.#servers.map((replicas) =>
      replicas.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`),
    );
  }

  /** On every shard, as if another client did it. */
  async run(sql: string): Promise<void> {
    const turn = this.#turn.then(async () => {
      for (const { writer } of this.#shards) await writer.queryAsync(sql);
    });
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  /** The server no longer responds. */
  async stopReplica(shard: number, replica: number): Promise<void> {
    const server = this.#servers[shard]?.[replica];
    server?.closeAllConnections();
    await new Promise((done) => server?.close(done));
  }

  async close(): Promise<void> {
    for (const server of this.#servers.flat()) {
      server.closeAllConnections();
      if (server.listening) await new Promise((done) => server.close(done));
    }
    await this.#turn;
    for (const { writer, reader } of this.#shards) {
      writer.close();
      reader.close();
    }
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #answer(shard: Shard, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url === '/ping') return void response.end('Ok.\n');
    // One statement at a time keeps the settings of one request from another.
    const body = Buffer.concat(chunks);
    const turn = this.#turn.then(() => this.#run(shard, request, body));
    this.#turn = turn.catch(() => undefined);
    try {
      const answer = await turn;
      const [, table] = /^SYSTEM SYNC REPLICA (\w+)/.exec(body.toString('utf8')) ?? [];
      if (table !== undefined) await this.caughtUp(table, request.headers.host ?? '');
      if (this.#isCluster && isDelete(body.toString('utf8'))) await this.#untilDeleted(shard, response);
      response.end(answer);
    } catch (error) {
      response.writeHead(500, { 'x-clickhouse-exception-code': '1' }).end((error as Error).message);
    }
  }

  async #untilDeleted({ name, writer }: Shard, response: ServerResponse): Promise<void> {
    const sql = `SELECT count() FROM system.mutations WHERE database = '${name}' AND NOT is_done`;
    for (;;) {
      const turn = this.#turn.then(() => writer.queryAsync(sql));
      this.#turn = turn.catch(() => undefined);
      if ((await turn).text().trim() === '0' || response.destroyed) return;
      await delay(20);
    }
  }

  async #run(shard: Shard, request: IncomingMessage, body: Buffer): Promise<string> {
    if (request.headers.authorization !== `Basic ${Buffer.from(credentials).toString('base64')}`) {
      throw new Error('Code: 516. DB::Exception: millrace: Authentication failed. (AUTHENTICATION_FAILED)');
    }
    const url = new URL(request.url ?? '', 'http://127.0.0.1');
    if (url.searchParams.get('database') !== database) throw new Error('Code: 81. DB::Exception: no database');
    const fields = await formOf(request, body);
    const inUrl = url.searchParams.get('query');
    const sql = inUrl ?? fields?.get('query') ?? body.toString('utf8');
    this.statements.push(sql);
    if (url.searchParams.get('readonly') === '2') return await read(shard, sql, url.searchParams, fields);
    if (inUrl === null) return await this.#command(shard, sql);
    const file = join(this.#dir, `${randomUUID()}.native`);
    writeFileSync(file, body);
    const result = await shard.writer.queryAsync(sql.replace(/\)\s+SETTINGS/, `) FROM INFILE '${file}' SETTINGS`));
    rmSync(file);
    return result.text();
  }

  async #command(shard: Shard, sql: string): Promise<string> {
    if (!this.#isCluster) return (await shard.writer.queryAsync(sql)).text();
    if (sql.startsWith('SYSTEM SYNC REPLICA ')) return '';
    // Others must not wait for their turn until it is done; its own client does, see #answer.
    if (isDelete(sql)) return (await shard.writer.queryAsync(sql.replace(/_sync = 2$/, '_sync = 0'))).text();
    // Tables that every server has whole, and statements for all of them.
    const isForAll = sql.includes(' ON CLUSTER ') || /^INSERT INTO (schema_version|cluster_layout) /.test(sql);
    for (const each of isForAll ? this.#shards : [shard]) {
      await each.writer.queryAsync(alone(sql, each.name, this.#shards.length));
    }
    return '';
  }
}

function isDelete(sql: string): boolean {
  return sql.startsWith('DELETE ');
}

/** The statement without what needs other servers. */
function alone(sql: string, shard: string, shards: number): string {
  const [, table] = /ENGINE = Distributed\('[^']+', '[^']+', '([^']+)'/.exec(sql) ?? [];
  const reads =
    shards === 1
      ? `ENGINE = Distributed('${standInCluster}', '${shard}',`
      : `ENGINE = Merge(REGEXP('^shard_[0-9]+$'), '^${table}$') --`;
  return (
    sql
      .replace(/ ON CLUSTER '[^']+'/, '')
      .replace(/ReplicatedMergeTree\('[^']+', '[^']+'\)/, 'MergeTree')
      .replace(/Replicated(\w+MergeTree)\('[^']+', '[^']+', /, '$1(')
      .replace(
        /replicated_deduplication_window = (\d+), replicated_deduplication_window_seconds = \d+/,
        'non_replicated_deduplication_window = $1',
      )
      // A function, because `$` means something in a text.
      .replace(/ENGINE = Distributed\('[^']+', '[^']+',/, () => reads)
  );
}

async function read(
  shard: Shard,
  sql: string,
  query: URLSearchParams,
  fields: Map<string, string> | undefined,
): Promise<string> {
  if (!shard.settled) {
    shard.settled = true;
    for (const name of readSettings) {
      if (query.has(name)) await shard.reader.queryAsync(`SET ${name} = '${query.get(name)}'`);
    }
    await shard.reader.queryAsync('SET readonly = 2');
  }
  const params: Record<string, string | (string | number)[]> = {};
  for (const [name, value] of [...query, ...(fields ?? [])]) {
    if (!name.startsWith('param_')) continue;
    const param = name.slice('param_'.length);
    // The binding escapes again what the client has escaped for the wire.
    params[param] = sql.includes(`{${param}:Array(`) ? elementsOf(value) : unescape(value);
  }
  const chunks: Buffer[] = [];
  for await (const chunk of shard.reader.queryStreamBind(sql, params)) chunks.push(Buffer.from(chunk.raw()));
  return Buffer.concat(chunks).toString('utf8');
}

/** So many shards, each of which the engine takes for itself. */
function clusterConfig(shards: number): string {
  const shard = '<shard><replica><host>127.0.0.1</host><port>9000</port></replica></shard>';
  return `<clickhouse><tcp_port>9000</tcp_port><remote_servers><${standInCluster}>${shard.repeat(shards)}</${standInCluster}></remote_servers></clickhouse>`;
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
