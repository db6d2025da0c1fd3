/** A cluster through which the same events go again and again, each time into new projects, with mishaps or without. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import { openKafkaLogWriter } from '../../../src/log/kafka/writer.ts';
import type { SharedLogWriter } from '../../../src/log/shared-log.ts';
import { lanes } from '../../../src/log/eventlog.ts';
import { connectClickhouse } from '../../../src/stores/events/clickhouse/connect-clickhouse.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { openPostgres } from '../../../src/stores/metadata/postgres.ts';
import { readCursors } from '../../../src/pipeline/cursors.ts';
import { replicaAccess, replicaDifferences } from '../../../test/support/clickhouse-replicas.ts';
import { createDraw } from '../../../test/support/draw.ts';
import { startChaos, type Chaos } from './chaos.ts';
import {
  openStormCluster,
  untilReady,
  type StormCluster,
  type StormClusterOptions,
  type StormProcess,
} from './cluster.ts';
import { stormBatches, type StormPlan } from './events.ts';
import { installPlugins, makeProjects, retireProjects, type StormPlugins } from './projects.ts';
import { runOutages, type OutageKind } from '../replica-outages.ts';
import { differences, twoEnds, type StormResult, type StormStores } from './result.ts';
import { sendAll } from './senders.ts';
import { openWitness, type LogWitness } from './witness.ts';

export interface StormOptions extends StormClusterOptions {
  /** Events of one window, by pipeline in turn. */
  readonly windows: readonly number[];
  /** Time for the rest to be stored once the storm is over, s. */
  readonly settleSeconds: number;
  readonly say: (text: string) => void;
}

export interface Weather {
  readonly seed: number;
  /** Time over which the events are sent, s, and after which it ends at the latest when they are not stored by then. */
  readonly seconds: number;
  /** Mean time between two mishaps, s. */
  readonly everySeconds: number;
  /** Outages of ClickHouse replicas, one after the other. */
  readonly outages: readonly OutageKind[];
}

export interface Storm extends AsyncDisposable {
  /** Runs one round, undisturbed without `weather`. */
  round(plan: StormPlan, weather?: Weather): Promise<StormResult>;
  /** Returns the differences between two rounds with the same events. */
  differences(plan: StormPlan, calm: StormResult, storm: StormResult): Promise<string[]>;
  /** Disables the projects of a round that is no longer compared. */
  retire(result: StormResult): Promise<void>;
  /** Returns the last output of the processes. */
  said(): string[];
}

const roles = ['capture', 'capture', 'pipeline', 'pipeline', 'pipeline', 'api', 'jobs'];
const readyMs = 600_000;
const linesEach = 12;

export async function openStorm(options: StormOptions): Promise<Storm> {
  await using cleanup = new AsyncDisposableStack();
  const cluster = cleanup.use(await openStormCluster(options));
  const windowEvents = (index: number): number => options.windows[index % options.windows.length] ?? 1009;
  const start = (name: string, index: number): Promise<StormProcess> =>
    cluster.start({ name: `${index}-${name}`, roles: name, windowEvents: windowEvents(index) });
  const processes = await Promise.all(roles.map(start));
  await Promise.all(processes.map((each) => untilReady(each, readyMs)));
  options.say(`${processes.length} processes are ready`);
  const withRole = (role: string): StormProcess[] => processes.filter((each) => each.roles === role);
  const [api] = withRole('api');
  if (api === undefined) throw new Error('expected a process with the role api');
  const plugins = await installPlugins(api);
  const db = openPostgres(cluster.databaseUrl, { onConnectionLost: () => undefined });
  cleanup.defer(() => db.destroy());
  const { url, ...place } = cluster.clickhouse;
  const store = await connectClickhouse(url, { ...place, queryTimeoutMs: 60_000, migrates: false });
  cleanup.defer(() => store.close());
  const log = await openKafkaLogWriter(cluster.kafka, { cursors: () => readCursors(db) });
  cleanup.defer(() => log.close());
  const witness = await openWitness(cluster.kafka);
  cleanup.defer(() => witness.close());
  const parts: Parts = {
    cluster,
    processes,
    api,
    plugins,
    captures: withRole('capture'),
    stores: { db, store },
    log,
    witness,
  };
  const owned = cleanup.move();
  return {
    round: (plan, weather) => runRound(parts, options, plan, weather),
    differences: ({ events }, calm, storm) => differences({ ...parts, events }, calm, storm),
    retire: ({ projects }) => retireProjects(api, projects),
    said: () => processes.flatMap(({ name, said }) => said.slice(-linesEach).map((text) => `${name}: ${text}`)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Parts {
  readonly cluster: StormCluster;
  readonly processes: readonly StormProcess[];
  readonly captures: readonly StormProcess[];
  readonly api: StormProcess;
  readonly plugins: StormPlugins;
  readonly stores: StormStores;
  readonly log: SharedLogWriter;
  readonly witness: LogWitness;
}

async function runRound(
  parts: Parts,
  { settleSeconds, say }: StormOptions,
  plan: StormPlan,
  weather: Weather | undefined,
): Promise<StormResult> {
  const { cluster, processes, captures, witness, stores } = parts;
  const projects = await makeProjects(parts.api, parts.plugins, plan);
  const claims = await claimsOf(stores.db);
  const chaos = weather && weather.everySeconds > 0 ? startStormChaos(parts, weather) : undefined;
  const access = replicaAccess();
  const outages = runOutages(weather?.outages ?? [], { access, say, progress: () => progressOf(parts) });
  const seconds = weather?.seconds ?? 0;
  await sendAll({ captures, projects, batches: stormBatches(plan), seconds });
  say(`all is taken, ${await waitingRecords(parts).catch(() => '?')} requests wait`);
  await untilProcessed(parts, weather ? seconds : settleSeconds);
  const [pauses] = await Promise.all([outages, chaos?.stop()]);
  if (weather) say(`the storm is over, ${await waitingRecords(parts).catch(() => '?')} requests wait`);
  await Promise.all(processes.map((each) => untilReady(each, readyMs)));
  const waiting = await untilProcessed(parts, settleSeconds);
  const statements = cluster.clickhouse.takeStatements();
  return {
    projects,
    rangesWithTwoEnds: statements === undefined ? [] : twoEnds(statements),
    replicas: await replicaDifferences(access),
    pauses,
    waiting,
    missed: witness.takeGap(),
    repeated: projects.reduce((sum, { id }) => sum + witness.repeated(id).batches, 0),
    claims: (await claimsOf(stores.db)) - claims,
    mishaps: chaos?.counts,
    failures: processes.flatMap(({ failures }) => failures.splice(0)),
  };
}

function startStormChaos({ cluster, processes, stores }: Parts, weather: Weather): Chaos {
  const isInside = ({ name }: StormProcess): Promise<boolean> =>
    findsAny(
      stores.db,
      sql`select pid from pg_stat_activity where application_name = ${name}
        and state = 'idle in transaction' and query like 'update "log_cursors" set "pending"%'`,
    );
  const isAwaited = ({ name }: StormProcess): Promise<boolean> =>
    findsAny(
      stores.db,
      sql`select waiting.pid from pg_stat_activity as waiting, pg_stat_activity as holder
        where holder.application_name = ${name} and holder.pid = any(pg_blocking_pids(waiting.pid))
        and waiting.application_name <> ${name} and waiting.query like 'select "seq", "pending" from "log_cursors"%'`,
    );
  return startChaos(cluster, processes, { ...weather, draw: createDraw(weather.seed), isInside, isAwaited });
}

/** Nothing, while the server is away. */
async function findsAny(db: Metadata, query: RawBuilder<unknown>): Promise<boolean> {
  const found = await query.execute(db).catch(() => ({ rows: [] }));
  return found.rows.length > 0;
}

/** How often slots were taken so far: every claim raises the epoch of its slot. */
async function claimsOf(db: Metadata): Promise<number> {
  const query = db.selectFrom('slots').select((eb) => eb.fn.sum<number>('epoch').as('claims'));
  return Number((await query.executeTakeFirstOrThrow()).claims);
}

/** How many records of the log wait when none does, or when time is up. */
async function untilProcessed(parts: Parts, seconds: number): Promise<number> {
  for (const end = Date.now() + seconds * 1000; ; await sleep(200)) {
    // In a storm no process may be there to respond.
    const waiting = await waitingRecords(parts).catch(() => undefined);
    if (waiting === 0) return 0;
    if (Date.now() > end) return waiting ?? Number.POSITIVE_INFINITY;
  }
}

/** Nothing, while a server is away. */
async function progressOf(parts: Parts): Promise<{ stored: number; waiting: number } | undefined> {
  try {
    const cursors = await readCursors(parts.stores.db);
    const stored = lanes.flatMap((lane) => [...cursors[lane].values()]).reduce((sum, seq) => sum + seq, 0);
    return { stored, waiting: await waitingRecords(parts) };
  } catch {
    return undefined;
  }
}

/** Those that the witness has not read count, too. */
async function waitingRecords({ log, stores, witness }: Parts): Promise<number> {
  const cursors = await readCursors(stores.db);
  let waiting = 0;
  for (const lane of lanes) {
    for (let slot = 0; slot < log.slots; slot += 1) {
      const end = await log.end(lane, slot);
      waiting += end - Math.min(cursors[lane].get(slot) ?? 0, witness.seq(lane, slot));
    }
  }
  return waiting;
}
