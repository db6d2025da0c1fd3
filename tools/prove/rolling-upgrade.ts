/**
 * Proves that a cluster is upgraded without downtime: `npm run prove -- rolling-upgrade [--from <commit>] [--records 60000]
 * [--beside 5] [--senders 6] [--pause 200] [--seed 1]`, with the servers of KAFKA_BROKERS, DATABASE_URL, CLICKHOUSE_URL and
 * BUCKET_ENDPOINT. With separate servers:
 *
 *   SHARDS=1 REPLICAS=3 node tools/with-clickhouse.ts -- node tools/with-kafka.ts -- node tools/with-postgres.ts -- \
 *     node tools/with-bucket.ts -- npm run prove -- rolling-upgrade
 *
 * Two processes of each role run the version --from (default: the last tag, or without tags a commit some time ago), which is built in a
 * temporary worktree. A load balancer in front of `capture` and `api` drops a process while its /readyz fails, and never repeats a request.
 * Live and historical events with identified persons, reads of the API, and an import of --records run throughout. Then
 *
 * 1. every process is replaced by one of this checkout, in the documented order; old and new ones run side by side for --beside seconds;
 * 2. every process is replaced by one of a later version that expands the metadata schema of tables in use;
 * 3. pipelines of this checkout start again on the expanded schema and replace those of the later version: the way back;
 * 4. a version that contracts the schema is started while they run: it must refuse and change nothing.
 *
 * Every acknowledged event has to be stored once, as it was sent, the persons have to be what the times of events say, the import exact.
 * The only faults that clients may see are 503 with Retry-After, for 2 seconds at most.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { VerifyResult } from '../../src/imports/run/results.ts';
import { callApi, startImport, type Run } from './cluster/api.ts';
import {
  clusterKeys,
  endAll,
  endProcess,
  launchRole,
  ownProgram,
  startRole,
  type ClusterProcess,
} from './cluster/process.ts';
import { startBalancer, type Balancer } from './rolling-upgrade/balancer.ts';
import { eventFaults, personFaults } from './rolling-upgrade/stored.ts';
import { startTraffic } from './rolling-upgrade/traffic.ts';
import {
  buildVersion,
  laterMigrations,
  lastRelease,
  plantMigrations,
  type BuiltVersion,
} from './rolling-upgrade/version.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: lastRelease() },
    records: { type: 'string', default: '60000' },
    beside: { type: 'string', default: '5' },
    senders: { type: 'string', default: '6' },
    pause: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  },
});
const refusedMsMax = 2000;
const untilStoredMs = 300_000;
const importMsMax = 1_800_000;
/** Longer than the load balancer needs to see that a process is not ready. */
const env = { MILLRACE_DRAIN_MS: '3000', MILLRACE_SLOTS: '8', MILLRACE_DATABASE_CONNECTIONS: '9' };
/** The order of the guide. */
const roles = ['jobs', 'pipeline', 'api', 'capture'] as const;
const eachRole = 2;

const started = performance.now();
const dir = mkdtempSync(join(tmpdir(), 'millrace-rolling-'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const faults: string[] = [];
let cutOff = 0;
const running = new Map<(typeof roles)[number], ClusterProcess[]>(roles.map((role) => [role, []]));
try {
  await main();
} finally {
  endAll();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

function say(text: string): void {
  console.log(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

async function main(): Promise<void> {
  using worktrees = new DisposableStack();
  const own: BuiltVersion = { name: 'this checkout', program: ownProgram };
  const before = buildVersion({ name: 'before', commit: values.from }, dir, worktrees);
  const planted = (name: string, sources: readonly string[]): BuiltVersion =>
    buildVersion({ name, commit: 'HEAD', change: (place) => plantMigrations(place, sources) }, dir, worktrees);
  const expanded = planted('expanded', [laterMigrations.expand]);
  const contracted = planted('contracted', [laterMigrations.expand, laterMigrations.contract]);
  worktrees.defer(endAll);
  say(`built ${values.from} and two later versions`);

  await using captures = await startBalancer();
  await using apis = await startBalancer();
  const balancers = { capture: captures, api: apis } as const;
  await Promise.all(roles.flatMap((role) => Array.from({ length: eachRole }, () => add(balancers, role, before))));
  const traffic = startTraffic({
    url: captures.url,
    seed: Number(values.seed),
    senders: Number(values.senders),
    pauseMs: Number(values.pause),
  });
  const reads = startReads(apis.url);
  const run = await startImport(apis.url, { records: Number(values.records), seed: Number(values.seed) });
  say(`${roles.length * eachRole} processes of ${values.from} run; the import has begun`);

  for (const role of roles) await replaceAll(balancers, role, own);
  await tryBack(before);
  await sayImport(apis.url, run);
  for (const role of roles) await replaceAll(balancers, role, expanded);
  await sayImport(apis.url, run);
  await replaceAll(balancers, 'pipeline', own);
  await expectRefused(contracted);
  say('every process was replaced; waiting for the import');

  await untilImported(apis.url, run);
  await traffic.stop();
  await reads.stop();
  await untilStored(apis.url);
  const verify = await callApi<VerifyResult>(apis.url, 'GET', `${run}verify/`);
  if (verify.verdict !== 'exact') faults.push(`the import is ${verify.verdict}: ${verify.detail}`);
  const { id } = await callApi<{ id: number }>(apis.url, 'GET', '/api/projects/@current/');
  faults.push(...(await eventFaults(id, traffic.acknowledged)), ...(await personFaults(apis.url, traffic.persons())));
  for (const [role, balancer] of Object.entries(balancers)) reportBalancer(role, balancer);
  say(
    `${traffic.acknowledged.size} events acknowledged, ${traffic.persons().length} persons, ${traffic.repeated} batches sent again, ` +
      `the longest acknowledgement took ${Math.round(traffic.waitedMsMax)} ms; ${cutOff} processes ended as after a crash; ` +
      `the import is ${verify.verdict}`,
  );
  for (const fault of faults) console.log(fault);
  console.log(faults.length === 0 ? 'without downtime, exact' : `${faults.length} FAULTS`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

type Balancers = Readonly<Partial<Record<string, Balancer>>>;

async function add(balancers: Balancers, role: (typeof roles)[number], { name, program }: BuiltVersion): Promise<void> {
  const process = await startRole(role, { dir, program, env });
  running.get(role)?.push(process);
  balancers[role]?.add(process.url);
  say(`${process.name} of ${name} is ready`);
}

/** Replaces the processes of a role one after the other; each leaves after its successor has run beside it. */
async function replaceAll(balancers: Balancers, role: (typeof roles)[number], version: BuiltVersion): Promise<void> {
  for (const old of running.get(role)?.slice() ?? []) {
    await add(balancers, role, version);
    await delay(Number(values.beside) * 1000);
    await stop(old);
    balancers[role]?.remove(old.url);
    running.set(role, running.get(role)?.filter((each) => each !== old) ?? []);
  }
}

/** A process that is too slow for its own time limit ends as after a crash: that is reported, and must lose nothing. */
async function stop(old: ClusterProcess): Promise<void> {
  const began = performance.now();
  const code = await endProcess(old, 'SIGTERM');
  say(`${old.name} ended with ${code} after ${Math.round(performance.now() - began)} ms`);
  if (code === 0) return;
  if (old.said.some((line) => line.includes('did not stop within'))) cutOff += 1;
  else faults.push(`${old.name} ended with ${code}: ${old.said.slice(-5).join('; ')}`);
}

/** The version before must start, if the schema has not changed since or was expanded, or refuse with a reason. */
async function tryBack(before: BuiltVersion): Promise<void> {
  const back = await launchRole('pipeline', { dir, program: before.program, env });
  const answered = await outcomeOf(back);
  say(`a pipeline of ${values.from} on the migrated stores: ${answered}`);
  if (answered !== 'ready' && !/newer (Millrace|version)/.test(answered))
    faults.push(`expected it to start or to refuse: ${answered}`);
  await endProcess(back, 'SIGTERM');
}

async function expectRefused(contracted: BuiltVersion): Promise<void> {
  const process = await launchRole('jobs', { dir, program: contracted.program, env });
  const answered = await outcomeOf(process);
  say(`a version that contracts the schema: ${answered}`);
  if (!/expected all running processes to support metadata schema/.test(answered))
    faults.push(`expected a refusal, got: ${answered}`);
  await endProcess(process, 'SIGKILL');
}

/** Returns "ready", or why it ended. */
async function outcomeOf({ url, child, said }: ClusterProcess): Promise<string> {
  for (const end = Date.now() + 120_000; Date.now() < end; await delay(200)) {
    if (child.exitCode !== null) return `ended with ${child.exitCode}: ${said.join(' ').slice(-600)}`;
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return 'ready';
  }
  return 'neither ready nor ended';
}

/** Reads what the console reads, again and again. The load balancer reports what fails. */
function startReads(url: string): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const paths = ['persons/?limit=50', 'events/?limit=20', 'plugins/', 'events/counts/', 'usage/'];
  const headers = { authorization: `Bearer ${clusterKeys.personal}` };
  const reading = (async () => {
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      const answer = await fetch(`${url}/api/projects/@current/${paths[turn % paths.length]}`, { headers }).catch(
        () => undefined,
      );
      await answer?.arrayBuffer();
      await delay(250);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await reading;
    },
  };
}

async function sayImport(url: string, path: string): Promise<void> {
  const { state, stage, totals } = await callApi<Run>(url, 'GET', path);
  say(`the import is ${state} (${stage}): ${totals.records} records, ${totals.loaded} loaded`);
}

async function untilImported(url: string, path: string): Promise<void> {
  for (const end = Date.now() + importMsMax; ; await delay(500)) {
    const { state, reason, stage, totals } = await callApi<Run>(url, 'GET', path);
    if (state === 'completed' && totals.records === Number(values.records)) return;
    if (state !== 'running' && state !== 'queued')
      throw new Error(`expected the run to complete, it is ${state}: ${reason}`);
    if (Date.now() > end) throw new Error(`expected the run to complete, it is in ${stage}`);
  }
}

/** Waits until no event waits in the log. */
async function untilStored(url: string): Promise<void> {
  for (const end = Date.now() + untilStoredMs; Date.now() < end; await delay(500)) {
    const { lanes } = await callApi<{ lanes: Record<string, { waiting_events: number }> }>(url, 'GET', '/api/status/');
    // A figure may be a second old.
    if (Object.values(lanes).every(({ waiting_events: waiting }) => waiting === 0)) return await delay(3000);
  }
  faults.push('events still waited in the log at the end');
}

function reportBalancer(role: string, balancer: Balancer): void {
  const { requests, refused, refusedMsMax: ms, faults: seen } = balancer.result();
  say(
    `${role}: ${requests} requests, ${refused} times 503 with Retry-After, for ${Math.round(ms)} ms at most, ${seen.length} faults`,
  );
  faults.push(...seen.slice(0, 20));
  if (ms > refusedMsMax) faults.push(`${role}: 503 for ${Math.round(ms)} ms`);
}
