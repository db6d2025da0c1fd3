/**
 * Proves exports: `npm run prove -- export [--events 1000000] [--kills 10] [--python PATH] [--dir DIR]`
 *
 * Stores events live and historically, exports them while the service is killed at random moments, imports the export into an empty service, and
 * compares events, persons and groups of both over the API. Then it exports Parquet, which DuckDB and, with `--python`, pyarrow must read as
 * the same rows.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createGunzip } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import type { ExportRecord } from '../../src/wire/contract/exports.ts';
import { parseMicros } from '../../src/stores/events/micros.ts';
import { canonicalItems, type CanonicalKind } from '../../test/support/canonical-project.ts';
import {
  apiGet,
  personalKey,
  projectKey,
  startServer,
  untilSettled,
  type TestServer,
} from '../../test/support/server.ts';

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    kills: { type: 'string', default: '10' },
    python: { type: 'string' },
    dir: { type: 'string', default: join(tmpdir(), 'prove-export') },
  },
});
const [total, kills] = [Number(options.events), Number(options.kills)];
const batchSize = 5000;
const groups = 100;
const started = performance.now();
let failed = false;

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

function check(holds: boolean, text: string): void {
  say(`${holds ? 'holds' : 'FAILS'}: ${text}`);
  if (!holds) failed = true;
}

/** Meanwhile this process notices connections that its services close. */
async function runProgram(program: string, args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { stdout, stderr, status };
}

const firstMs = Date.now() - 30 * 86_400_000;
const stepMs = Math.floor((30 * 86_400_000 - 3_600_000) / total);

/** One of them sets a group or links a device; times differ, so that the order of arrival decides nothing. */
function eventOf(i: number): string {
  const user = (i * 7919) % Math.max(10, Math.floor(total / 20));
  const at = new Date(firstMs + i * stepMs).toISOString();
  const head = `{"uuid":"00000000-0000-4000-8000-${String(i).padStart(12, '0')}","timestamp":"${at}"`;
  if (i < groups) {
    return `${head},"event":"$groupidentify","distinct_id":"user-${user}","properties":{"$group_type":"company","$group_key":"c ${i}","$group_set":{"n":${i}}}}`;
  }
  if (i % 20 === 0) {
    return `${head},"event":"$identify","distinct_id":"user-${user}","properties":{"$anon_distinct_id":"device-${user}","$set":{"plan":"p${i % 3}"}}}`;
  }
  const properties = `{"$set_once":{"first":${i}},"id":12345678901234567890${i % 10},"amount":${i % 100}.50,"text":"Zoë, \\"${i}\\"","$groups":{"company":"c ${i % groups}"}}`;
  return `${head},"event":"${i % 3 === 0 ? 'order \\"paid\\"' : '$pageview'}","distinct_id":"${i % 2 === 0 ? 'user' : 'device'}-${user}","properties":${properties}}`;
}

async function fill({ url }: TestServer): Promise<void> {
  for (let from = 0; from < total; from += batchSize) {
    const batch = Array.from({ length: Math.min(batchSize, total - from) }, (_, i) => eventOf(from + i)).join(',');
    // The first half is history.
    const body = `{"api_key":"${projectKey}","historical_migration":${from < total / 2},"batch":[${batch}]}`;
    for (;;) {
      const { status } = await fetch(`${url}/batch/`, { method: 'POST', body });
      if (status === 200) break;
      await delay(500);
    }
  }
}

const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
const exportsPath = '/api/projects/@current/exports/';

async function startExport({ url }: TestServer, body: object): Promise<string> {
  const answer = await fetch(url + exportsPath, { method: 'POST', headers, body: JSON.stringify(body) });
  return ((await answer.json()) as ExportRecord).id;
}

async function waitFor(server: TestServer, id: string): Promise<ExportRecord> {
  for (;;) {
    const record = await apiGet<ExportRecord>(server, `${exportsPath}${id}/`);
    if (record.state === 'done') return record;
    if (record.state === 'failed') throw new Error(record.error);
    await delay(300);
  }
}

async function download({ url }: TestServer, { id, progress }: ExportRecord, dir: string): Promise<boolean> {
  await mkdir(dir, { recursive: true });
  let isExact = true;
  for (const { name, sha256 } of progress?.parts ?? []) {
    const answer = await fetch(`${url}${exportsPath}${id}/files/${name}/`, { headers });
    if (answer.body === null) throw new Error(`expected the file ${name}`);
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(join(dir, name)));
    const found = createHash('sha256')
      .update(await readFile(join(dir, name)))
      .digest('hex');
    if (found !== sha256) isExact = false;
  }
  return isExact;
}

/** A sum over rows that does not depend on their order. */
class Sum {
  #sum = 0n;
  #count = 0;
  add(text: string): void {
    this.#sum += BigInt(`0x${createHash('sha256').update(text).digest('hex')}`);
    this.#count += 1;
  }
  toString(): string {
    return `${this.#count} ${(this.#sum % 2n ** 256n).toString(16)}`;
  }
}

async function sumOf({ url }: TestServer, kind: CanonicalKind): Promise<string> {
  const sum = new Sum();
  for await (const text of canonicalItems(url, kind)) sum.add(text);
  return String(sum);
}

/** Of uuid, event, distinct_id, time in µs and properties. */
async function sumOfLines(dir: string): Promise<string> {
  const sum = new Sum();
  for (const name of (await readdir(dir)).filter((each) => each.startsWith('events-'))) {
    for await (const line of createInterface({ input: createReadStream(join(dir, name)).pipe(createGunzip()) })) {
      const { uuid, event, distinct_id, timestamp } = JSON.parse(line);
      const properties = line.slice(line.indexOf('"properties":') + 13, line.lastIndexOf(',"historical_migration"'));
      sum.add([uuid, event, distinct_id, parseMicros(timestamp), properties].join('\n'));
    }
  }
  return String(sum);
}

async function sumByDuckDb(dir: string): Promise<string> {
  const sum = new Sum();
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const sql = `SELECT uuid, event, distinct_id, epoch_us(timestamp)::VARCHAR, properties FROM read_parquet('${dir}/events-*.parquet')`;
  const result = await connection.stream(sql);
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    for (const row of chunk.getRows()) sum.add(row.join('\n'));
  }
  return String(sum);
}

const pythonProgram = `
import sys, glob, hashlib, pyarrow.parquet as pq
total, count, kinds = 0, 0, set()
for path in glob.glob(sys.argv[1] + '/events-*.parquet'):
    table = pq.read_table(path)
    kinds.add(str(table.schema.field('timestamp').type))
    times = table['timestamp'].cast('int64').to_pylist()
    columns = [table[name].to_pylist() for name in ('uuid', 'event', 'distinct_id')]
    for row in zip(*columns, map(str, times), table['properties'].to_pylist()):
        total += int(hashlib.sha256('\\n'.join(row).encode()).hexdigest(), 16)
        count += 1
print(count, format(total % 2**256, 'x'), ' '.join(sorted(kinds)), sep=' ')
`;

async function exportKilled(server: TestServer, data: string): Promise<{ server: TestServer; record: ExportRecord }> {
  let current = server;
  const body = { tables: ['events', 'persons', 'groups'], rows_per_part: Math.max(1000, Math.floor(total / 40)) };
  const id = await startExport(current, body);
  for (let kill = 1; kill <= kills; kill += 1) {
    const before = await apiGet<ExportRecord>(current, `${exportsPath}${id}/`);
    await delay(500 + Math.random() * 2500);
    await current.kill();
    say(`kill ${kill}: the export was ${before.state} with ${before.progress?.parts.length ?? 0} parts`);
    current = await startServer(data, {}, { readyMs: 300_000 });
  }
  return { server: current, record: await waitFor(current, id) };
}

await rm(options.dir, { recursive: true, force: true });
await mkdir(options.dir, { recursive: true });
const at = (name: string): string => join(options.dir, name);
const source = await startServer(at('source'), {}, { readyMs: 300_000 });
await fill(source);
await untilSettled(source, { historical: total / 2, standard: total / 2 }, 1_200_000);
say(`${total} events are stored`);

const { server, record } = await exportKilled(source, at('source'));
say(`exported: ${JSON.stringify(record.result)}`);
check(record.result?.rows['events'] === total, `the manifest has ${total} events`);
check(
  await download(server, record, at('export')),
  `${record.progress?.parts.length} files have the SHA-256 of the manifest`,
);

const parquet = await waitFor(server, await startExport(server, { format: 'parquet' }));
check(await download(server, parquet, at('parquet')), 'so have the files of Parquet');
const lines = await sumOfLines(at('export'));
check((await sumByDuckDb(at('parquet'))) === lines, `DuckDB reads the same rows: ${lines}`);
if (options.python !== undefined) {
  const { stdout, stderr } = await runProgram(options.python, ['-c', pythonProgram, at('parquet')]);
  if (stderr !== '') say(stderr);
  check(stdout.trim() === `${lines} timestamp[us, tz=UTC]`, `pyarrow reads the same rows: ${stdout.trim()}`);
}

const target = await startServer(at('target'), {}, { readyMs: 300_000 });
const words = ['bin/millrace.js', 'import', 'millrace', at('export'), '--to', target.url];
const keys = ['--project-key', projectKey, '--api-key', personalKey, '--state-dir', at('runs')];
const imported = await runProgram(process.execPath, [...words, ...keys]);
say(`import ended with ${imported.status}: ${imported.stderr.trim().split('\n').slice(-3).join('; ')}`);
check(imported.status === 0, 'the import is exact');
for (const kind of ['events', 'persons', 'groups'] as const) {
  const [one, other] = [await sumOf(server, kind), await sumOf(target, kind)];
  check(one === other, `${kind} of both services are equal: ${one}`);
}
await Promise.all([server.terminate(), target.terminate()]);
process.exitCode = failed ? 1 : 0;
