/**
 * Baseline of (b): inserts the same rows directly into the same chDB table in the fastest way, from files of 100,000 rows each in the
 * engine's Native format. Creating the files is not counted. Prints its CPU seconds and wall time.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Session } from 'chdb';
import { migrations } from '../../src/stores/events/migrate-store.ts';
import { singleForm } from '../../src/stores/events/schema-form.ts';
import { eventColumns } from '../../src/stores/events/rows.ts';

const [dir = '', listFile = ''] = process.argv.slice(2);
const files = readFileSync(listFile, 'utf8').trim().split('\n');
const session = new Session(join(dir, 'door'));
const columns = eventColumns.join(', ');

await run('CREATE DATABASE door ENGINE = Atomic');
await run('USE door');
for (const { statements } of migrations) for (const statement of statements(singleForm)) await run(statement);
const cpu = process.cpuUsage();
const started = performance.now();
for (const file of files) await insert(file);
const wallSeconds = (performance.now() - started) / 1000;
await untilMerged();
const used = process.cpuUsage(cpu);
const [rows] = (await session.queryAsync('SELECT count() AS n FROM events', { format: 'JSONEachRow' }))
  .text()
  .trim()
  .split('\n');
process.send?.({
  rows: Number((JSON.parse(rows ?? '{}') as { n: string }).n),
  wallSeconds,
  cpuSeconds: (used.user + used.system) / 1e6,
});
session.close();
rmSync(join(dir, 'door'), { recursive: true, force: true });
process.disconnect();

async function insert(file: string): Promise<void> {
  const settings = 'max_partitions_per_insert_block = 0, async_insert = 0, optimize_on_insert = 0';
  await run(`INSERT INTO events (${columns}) FROM INFILE '${file}' SETTINGS ${settings} FORMAT Native`);
}

async function run(sql: string): Promise<void> {
  await session.queryAsync(sql);
}

/** Merging is part of the price of an insert. */
async function untilMerged(): Promise<void> {
  for (let quiet = 0; quiet < 4;) {
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 250));
    const spent = process.cpuUsage(before);
    quiet = spent.user + spent.system < 30_000 ? quiet + 1 : 0;
  }
}
