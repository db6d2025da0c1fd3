import type { WarnLog } from '../../../server/telemetry/log.ts';
import type { RowBatch, StoreHealth } from '../eventstore.ts';
import { addRemoved, checkExpiry, removeExpiredRows } from '../expired-rows.ts';
import { allTables, runTableName, type RunTableRef } from '../run-table-names.ts';
import { createRunTables, runTableSql, type RunStore, type RunTableChange, type RunTables } from '../run-tables.ts';
import { clusterForm, type SchemaForm } from '../schema-form.ts';
import { migrateStore } from '../migrate-store.ts';
import { damagedPartsOf, deleteRunSql, healthOf, insertSql, type DamagedPart, type InsertTarget } from '../sql.ts';
import {
  checkLayout,
  clusterLayout,
  clusterRowsSql,
  knownAddresses,
  slotsOf,
  type ClusterLayout,
  type ClusterRow,
} from './cluster-layout.ts';
import { changeOnShard, type ShardChange } from './change-on-shard.ts';
import { deleteOnShard } from './delete-on-shard.ts';
import { insertOnShard } from './insert-on-shard.ts';
import { eraseOnShard } from './erase-on-shard.ts';
import { eraseConditions } from '../erase-sql.ts';
import { Replicas } from './replicas.ts';
import { connectServer, type ClickhouseServer, type ServerOptions, type ServerSettings } from './server.ts';
import { shardKeySql } from './shard-key.ts';
import { splitByShard } from './split-by-shard.ts';
import { delaySecondsMax, waitForReplicas } from './wait-for-replicas.ts';

export interface ClusterOptions {
  readonly queryTimeoutMs: number;
  /** Name of the cluster. */
  readonly cluster: string;
  /** As in `clusterLayout`. */
  readonly replicas: string;
  /** As in `ClickhouseOptions`. */
  readonly migrates: boolean;
  /** As in `ClickhouseOptions`. */
  readonly pollMs: number;
  readonly log: WarnLog;
}

const localTable = 'events_local';
const nameForm = /^[A-Za-z0-9_.-]{1,100}$/;

/**
 * Inserts must be acknowledged by most replicas of the shard. Tables contain whole rows, so inserts of several workers may wait for their
 * replicas concurrently.
 */
const target: InsertTarget = {
  table: localTable,
  settings: ["insert_quorum = 'auto'", 'insert_quorum_parallel = 1', 'insert_quorum_timeout = 120000'],
};

/**
 * Reads must return everything that is stored: a shard that does not answer fails the query, and each shard is read from the replica that
 * takes inserts, unless it is unavailable or behind.
 */
const readSettings: ServerSettings = {
  skip_unavailable_shards: 0,
  prefer_localhost_replica: 0,
  load_balancing: 'in_order',
  // Otherwise a slightly slower replica is skipped for one that may not have the newest rows yet.
  use_hedged_requests: 0,
  // A failed replica is read again at about the time when it takes inserts again; the default is minutes.
  distributed_replica_error_half_life: 5,
  max_replica_delay_for_distributed_queries: String(delaySecondsMax),
  fallback_to_stale_replicas_for_distributed_queries: 0,
  // A subquery covers all shards as well.
  distributed_product_mode: 'global',
  // Safe, because rows are where the key says: connectCluster refuses a cluster whose shards have changed.
  optimize_skip_unused_shards: 1,
};

/** Connects to the event store on a cluster: rows are inserted into a replica of their shard, reads use the Distributed table of any server. */
export async function connectCluster(url: URL, options: ClusterOptions): Promise<RunStore> {
  const { cluster } = options;
  const database = decodeURIComponent(url.pathname.slice(1)) || 'default';
  for (const [what, name] of [
    ['the cluster in MILLRACE_CLICKHOUSE_CLUSTER', cluster],
    ['the database in CLICKHOUSE_URL', database],
  ]) {
    if (!nameForm.test(name ?? '')) throw new TypeError(`expected ${what} to be 1 to 100 of A-Z a-z 0-9 _ . -`);
  }
  const servers = new Servers({ queryTimeoutMs: options.queryTimeoutMs, readSettings });
  const anyServer = new Replicas(knownAddresses(url, options.replicas).map((address) => servers.of(address)));
  const readLayout = async (): Promise<ClusterLayout> => {
    const rows = await anyServer.use((server) => server.rows<ClusterRow>(clusterRowsSql, { cluster }));
    return clusterLayout(rows, { ...options, url });
  };
  const opening = createOpening(async () => {
    const layout = await readLayout();
    await anyServer.use((server) => checkLayout(server, layout, cluster));
    return openCluster(servers, url, layout);
  });
  try {
    if (options.migrates) {
      const form = clusterForm({ cluster, database, weights: (await readLayout()).weights }, shardKeySql);
      await anyServer.use((server) => migrateStore(server, form));
      await opening();
    }
  } catch (error) {
    await servers.close();
    throw error;
  }
  const form = clusterForm({ cluster, database, weights: [] }, shardKeySql);
  return clusterStore({ servers, opening, form, pollMs: options.pollMs, log: options.log });
}

/** Opens once, on the first call, and again after a failure. */
function createOpening(open: () => Promise<Cluster>): () => Promise<Cluster> {
  let opened: Promise<Cluster> | undefined;
  return () => {
    if (opened !== undefined) return opened;
    const attempt = open();
    opened = attempt;
    attempt.catch(() => (opened = undefined));
    return attempt;
  };
}

/** One connection per address, however often it is listed. */
class Servers {
  readonly #options: ServerOptions;
  readonly #byAddress = new Map<string, ClickhouseServer>();

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  of(url: URL): ClickhouseServer {
    const known = this.#byAddress.get(url.href);
    if (known !== undefined) return known;
    const server = connectServer(url, this.#options);
    this.#byAddress.set(url.href, server);
    return server;
  }

  async close(): Promise<void> {
    for (const server of this.#byAddress.values()) await server.close();
  }
}

interface Cluster {
  readonly shards: readonly Replicas[];
  readonly all: Replicas;
  readonly slots: readonly number[];
  /** As in `insertOnShard`. */
  readonly unsure: Set<string>;
}

function openCluster(servers: Servers, url: URL, layout: ClusterLayout): Cluster {
  const shards = layout.replicas.map((replicas) => new Replicas(replicas.map((replica) => servers.of(replica))));
  const all = new Replicas([...new Set([servers.of(url), ...shards.flatMap((shard) => shard.servers)])]);
  return { shards, all, slots: slotsOf(layout), unsure: new Set() };
}

interface ClusterStoreDeps {
  readonly servers: Servers;
  readonly opening: () => Promise<Cluster>;
  readonly form: SchemaForm;
  readonly pollMs: number;
  readonly log: WarnLog;
}

function clusterStore(deps: ClusterStoreDeps): RunStore {
  const { servers, opening, pollMs } = deps;
  return {
    async insertBatch(batch, token, isRepeated = false) {
      // Checks the token, also when there is nothing to insert.
      insertSql(token, '', target);
      if (batch.rows > 0) await insertByShard(await opening(), batch, token, { ...target, isRepeated });
    },
    async deleteRun(rows, watch) {
      // Checks the arguments even if no shard can be reached.
      const sql = deleteRunSql(rows, localTable);
      const { shards } = await opening();
      const work = { table: localTable, sql, text: `'${rows.runId}'`, pollMs };
      await Promise.all(shards.map((shard, at) => deleteOnShard(shard, { ...work, where: shardName(at) }, watch)));
    },
    async erase(rows, watch) {
      eraseConditions(rows);
      const { shards } = await opening();
      const work = { table: localTable, rows, pollMs };
      await Promise.all(shards.map((shard, at) => eraseOnShard(shard, { ...work, where: shardName(at) }, watch)));
    },
    async removeExpired(month, expiries) {
      checkExpiry(month, expiries);
      const { shards } = await opening();
      const removals = shards.map((shard) =>
        shard.use((server) => removeExpiredRows({ ...server, table: localTable }, month, expiries)),
      );
      return (await Promise.all(removals)).reduce(addRemoved);
    },
    query: async (sql, params) => (await opening()).all.use((server) => server.rows(sql, params)),
    async waitForReplicas(run) {
      const ofRun = run === undefined ? [] : allTables.map((table) => deps.form.rowsOf(runTableName({ run, table })));
      await waitForReplicas((await opening()).shards, [localTable, ...ofRun]);
    },
    runTables: clusterRunTables(deps),
    async health() {
      try {
        return await clusterHealth((await opening()).shards);
      } catch (error) {
        return { ok: false, detail: error instanceof Error ? error.message : String(error) };
      }
    },
    close: () => servers.close(),
  };
}

function shardName(at: number): string {
  return `shard ${at + 1} of the ClickHouse cluster`;
}

/**
 * An unavailable server creates or drops the table when it is back. The others wait for it until its session in Keeper has expired, at most
 * this long. Older servers do not know who is unavailable, and wait this long for each statement.
 */
const tableSettings: ServerSettings = {
  distributed_ddl_task_timeout: '30',
  // The client's types lack this value.
  distributed_ddl_output_mode: 'null_status_on_timeout_only_active' as 'null_status_on_timeout',
};

function clusterRunTables({ opening, form, pollMs, log }: Omit<ClusterStoreDeps, 'servers'>): RunTables {
  return createRunTables({
    form,
    async change(change) {
      const { all, shards } = await opening();
      const statements = runTableSql(change, form);
      const tables = shardTables(change, form);
      if (tables !== undefined) {
        // Sorted facts that are there twice would be delivered twice.
        const isRepeatable = change.kind !== 'order';
        const work = { ...tables, statements, isRepeatable, pollMs, log };
        await Promise.all(shards.map((shard, at) => changeOnShard(shard, { ...work, shardNumber: at + 1 })));
      } else for (const sql of statements) await all.use((server) => server.command(sql, tableSettings));
    },
    async insert(into, batch, token, isRepeated) {
      const table = form.rowsOf(runTableName(into));
      await insertByShard(await opening(), batch, token, { ...target, table, isRepeated });
    },
    async replicaRows<Row>(sql: string) {
      const { shards } = await opening();
      return await Promise.all(shards.map(({ servers }) => rowsOfServers<Row>(servers, sql)));
    },
    query: async (sql, params) => (await opening()).all.use((server) => server.rows(sql, params)),
    lines: async (sql) => (await opening()).all.use((server) => server.lines(sql)),
  });
}

/** Returns the rows of each server that answers. Rejects with the last reason if none does. */
async function rowsOfServers<Row>(servers: readonly ClickhouseServer[], sql: string): Promise<Row[][]> {
  const answers = await Promise.allSettled(servers.map((server) => server.rows<Row>(sql)));
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  if (found.length === 0) for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
  return found;
}

/** Returns the tables that a change on each shard reads and writes. */
function shardTables(change: RunTableChange, form: SchemaForm): Pick<ShardChange, 'from' | 'to'> | undefined {
  const local = (table: RunTableRef['table']): string => form.rowsOf(runTableName({ run: change.run, table }));
  if (change.kind === 'attach') return { from: [local('rows')], to: localTable };
  if (change.kind === 'add-components') return { from: [], to: local('components') };
  if (change.kind === 'order') return { from: [local(change.from), local('components')], to: local('ordered') };
  return undefined;
}

/** Resolves once every shard has its rows. After a failure, repeating the call adds missing rows: each shard has a separate token. */
async function insertByShard(
  { shards, slots, unsure }: Cluster,
  batch: RowBatch,
  token: string,
  into: InsertTarget & { readonly isRepeated: boolean },
): Promise<void> {
  const parts = shards.length === 1 ? [batch] : splitByShard(batch, slots);
  const insert = async (part: RowBatch | undefined, at: number): Promise<void> => {
    if (part === undefined) return;
    const sql = insertSql(shards.length === 1 ? token : `${token}:s${at}`, '', into);
    if (into.isRepeated) unsure.add(sql);
    const shard = shards[at];
    if (shard !== undefined) await insertOnShard(shard, { sql, batch: part }, unsure);
  };
  const ended = await Promise.allSettled(parts.map(insert));
  for (const result of ended) if (result.status === 'rejected') throw result.reason;
}

interface ReplicaState {
  readonly isReadOnly: boolean;
  /** Parts lost by all replicas of the shard since the table was created. */
  readonly lostParts: number;
  /** Parts that this replica has set aside, and fetches from another one. */
  readonly damaged: readonly DamagedPart[];
}

/** Healthy while each shard has enough replicas for inserts, and has lost no part. */
async function clusterHealth(shards: readonly Replicas[]): Promise<StoreHealth> {
  // Concurrently: a hanging replica takes seconds to detect, and a probe must not wait for one shard after another.
  const statesByShard = await Promise.all(shards.map((shard) => Promise.all(shard.servers.map(replicaState))));
  for (const [at, states] of statesByShard.entries()) {
    const working = states.filter((state) => state?.isReadOnly === false).length;
    const needed = Math.floor(states.length / 2) + 1;
    if (working < needed) {
      const detail =
        `Shard ${at + 1} of the ClickHouse cluster has ${working} of ${states.length} replicas that take inserts, ` +
        `and needs ${needed}; check its servers and ClickHouse Keeper.`;
      return { ok: false, detail };
    }
    // Those who accept a loss delete what was set aside; the count of lost parts stays.
    const isLost = states.some((state) => state !== undefined && state.lostParts > 0);
    const health = healthOf(isLost ? damagedIn(states) : []);
    if (!health.ok) return health;
  }
  return { ok: true, detail: repairedText(damagedIn(statesByShard.flat())) };
}

function damagedIn(states: readonly (ReplicaState | undefined)[]): DamagedPart[] {
  return states.flatMap((state) => state?.damaged ?? []);
}

/** Describes repaired damage: nothing is missing, but the disk cannot be trusted. */
function repairedText([first, ...more]: readonly DamagedPart[]): string {
  if (first === undefined) return '';
  const others = more.length === 0 ? '' : ` and ${more.length} more`;
  return (
    `A ClickHouse server set aside damaged parts of ${localTable} (${first.path}${others}) and fetches them from another replica. ` +
    'Check its disk, then delete those directories.'
  );
}

/** Returns `undefined` if the replica does not answer or has no table, soon enough for a probe. The others decide whether the shard is healthy. */
async function replicaState(server: ClickhouseServer): Promise<ReplicaState | undefined> {
  if (!(await server.answers())) return undefined;
  try {
    // Fails on a server that lost its disk, until its tables are created again.
    await server.rows(`SELECT 1 FROM ${localTable} LIMIT 0`);
    const [row] = await server.rows<{ read_only: number; lost: string }>(
      `SELECT toUInt8(is_readonly) AS read_only, toUInt64(lost_part_count) AS lost FROM system.replicas
WHERE database = currentDatabase() AND table = '${localTable}'`,
    );
    const damaged = await server.rows<DamagedPart>(damagedPartsOf(localTable));
    return { isReadOnly: row?.read_only === 1, lostParts: Number(row?.lost ?? 0), damaged };
  } catch {
    return undefined;
  }
}
