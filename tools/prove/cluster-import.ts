/**
 * Proves that an import by several processes is exact while they are killed repeatedly:
 * `npm run prove -- cluster-import [--records 1000000] [--every 10] [--seed 1] [--outages kill,hang]`, with the servers of KAFKA_BROKERS,
 * DATABASE_URL, CLICKHOUSE_URL and BUCKET_ENDPOINT. With separate servers:
 *
 *   node tools/with-clickhouse.ts -- node tools/with-kafka.ts -- node tools/with-postgres.ts -- \
 *     node tools/with-bucket.ts -- npm run prove -- cluster-import
 *
 * A generated export is uploaded in pieces and imported by two processes of the role `jobs`, next to one each for `capture`, `pipeline` and
 * `api`. Every --every seconds kill -9 hits one of the two, alternately, and it restarts. At the end the service compares the stored events
 * with the staged ones, property by property, and every sum of the report has to agree. With --outages each ClickHouse replica in turn is
 * stopped in the meantime (see `replicas`), and in the end all replicas of a shard must have the same rows.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ReportResult } from '../../src/imports/stages/report/report.ts';
import type { VerifyResult } from '../../src/imports/run/results.ts';
import { replicaAccess, replicaDifferences } from '../../test/support/clickhouse-replicas.ts';
import { callApi, startImport, type Run } from './cluster/api.ts';
import { endAll, endProcess, startRole } from './cluster/process.ts';
import { readOutages, runOutages } from './replica-outages.ts';

const minutesMax = 120;

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    every: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    outages: { type: 'string', default: '' },
  },
});
const outages = readOutages(values.outages);
const access = replicaAccess();
const [records, seconds] = [Number(values.records), Number(values.every)];
const dir = mkdtempSync(join(tmpdir(), 'millrace-prove-cluster-'));
const started = performance.now();

const start = (role: string) => startRole(role, { dir });
const api = await start('api');
await Promise.all([start('capture'), start('pipeline')]);
const jobs = await Promise.all([start('jobs'), start('jobs')]);
const path = await startImport(api.url, { records, seed: Number(values.seed) });
say(`${records} records, kill -9 of a jobs process every ${seconds} s`);
const [{ run, kills }] = await Promise.all([
  killUntilDone(path),
  // What is loaded is not counted while it is checked, so no pause is measured.
  runOutages(outages, { access, progress: async () => undefined, say }),
]);
const differences = await replicaDifferences(access);
for (const difference of differences) say(difference);
const verify = await callApi<VerifyResult>(api.url, 'GET', `${path}verify/`);
const report = await callApi<ReportResult>(api.url, 'GET', `${path}report/`);
const broken = report.balance.filter(({ holds }) => !holds);
say(`${kills.length} kills, in ${countBy(kills)}; ${run.totals.records} records, ${run.totals.loaded} loaded`);
say(`${verify.verdict}: ${verify.detail}`);
const isExact =
  verify.verdict === 'exact' && broken.length + differences.length === 0 && run.totals.records === records;
if (!isExact) console.log(JSON.stringify({ totals: run.totals, verify, broken }, undefined, 2));
console.log(isExact ? 'exact' : 'NOT EXACT');
process.exitCode = isExact ? 0 : 1;
endAll();
rmSync(dir, { recursive: true, force: true });

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

/** Returns the stages in which the kills came. */
async function killUntilDone(to: string): Promise<{ readonly run: Run; readonly kills: readonly string[] }> {
  const hit: string[] = [];
  for (let nextKill = performance.now() + seconds * 1000; ; await delay(250)) {
    const run = await callApi<Run>(api.url, 'GET', to);
    if (run.state === 'completed') return { run, kills: hit };
    if (run.state === 'failed') throw new Error(`expected the run to continue, it failed: ${run.reason}`);
    if (performance.now() - started > minutesMax * 60_000) throw new Error(`not done in ${minutesMax} minutes`);
    if (performance.now() < nextKill) continue;
    // On a busy machine a start may take longer than that: then the next kill comes at once.
    nextKill = Math.max(nextKill + seconds * 1000, performance.now());
    hit.push(run.stage);
    const index = hit.length % jobs.length;
    await endProcess(jobs[index] ?? api, 'SIGKILL');
    jobs[index] = await start('jobs');
    say(`killed in ${run.stage}; ${run.totals.records} records, ${run.totals.loaded} loaded`);
  }
}

function countBy(words: readonly string[]): string {
  const counts = Map.groupBy(words, (word) => word);
  return [...counts].map(([word, all]) => `${word} ${all.length}`).join(', ');
}
