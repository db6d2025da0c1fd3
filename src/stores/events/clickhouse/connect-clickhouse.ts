import type { WarnLog } from '../../../server/telemetry/log.ts';
import { runTableName } from '../run-table-names.ts';
import { removeExpiredRows } from '../expired-rows.ts';
import { createRunTables, runTableSql, type RunStore } from '../run-tables.ts';
import { singleForm } from '../schema-form.ts';
import { migrateStore } from '../migrate-store.ts';
import { damagedPartsSql, deleteRunSql, healthOf, insertSql, type DamagedPart } from '../sql.ts';
import { connectCluster } from './connect-cluster.ts';
import { eraseOnShard } from './erase-on-shard.ts';
import { Replicas } from './replicas.ts';
import { connectServer, type ClickhouseServer } from './server.ts';

export interface ClickhouseOptions {
  readonly queryTimeoutMs?: number;
  /** Name of the cluster on the servers. Empty for a single server. */
  readonly cluster?: string;
  /** Addresses of the cluster's servers, as in `clusterLayout`. */
  readonly replicas?: string;
  /** Whether to migrate the tables first; default true. Otherwise servers are contacted with the first query. */
  readonly migrates?: boolean;
  /** For a cluster, how long to wait for replicas before the reason is queried and logged, and the interval after that. Default 5000. */
  readonly pollMs?: number;
  /** For a cluster, logs what is waited for. By default nothing is logged. */
  readonly log?: WarnLog;
}

const queryTimeoutMsDefault = 30_000;
const pollMsDefault = 5000;

/**
 * Connects to the event store on ClickHouse, over HTTP.
 *
 * @param url http(s)://user:password@host:8123/database, with an existing database
 * @throws StoreUnavailableError when the server cannot be reached, StoreSchemaTooNewError when its tables are newer
 */
export async function connectClickhouse(url: string, options: ClickhouseOptions = {}): Promise<RunStore> {
  const { queryTimeoutMs = queryTimeoutMsDefault, cluster = '', replicas = '', migrates = true } = options;
  const address = checkUrl(url);
  if (cluster !== '') {
    const { pollMs = pollMsDefault, log = { warn: () => {} } } = options;
    return await connectCluster(address, { queryTimeoutMs, cluster, replicas, migrates, pollMs, log });
  }
  const server = connectServer(address, { queryTimeoutMs });
  try {
    if (migrates) await migrateStore(server);
  } catch (error) {
    await server.close();
    throw error;
  }
  return serverStore(server, options.pollMs ?? pollMsDefault);
}

/** @throws TypeError for another form, without repeating it */
export function checkUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && /^https?:$/.test(parsed.protocol)) return parsed;
  // The value is not shown, since it may contain the password.
  throw new TypeError('expected CLICKHOUSE_URL to be like http://user:password@host:8123/database, got something else');
}

function serverStore(server: ClickhouseServer, pollMs: number): RunStore {
  return {
    async insertBatch(batch, token) {
      const sql = insertSql(token, '');
      if (batch.rows > 0) await server.insert(sql, batch);
    },
    deleteRun: async (rows) => await server.command(deleteRunSql(rows)),
    removeExpired: (month, expiries) => removeExpiredRows({ ...server, table: 'events' }, month, expiries),
    async erase(rows, watch) {
      const work = { table: 'events', rows, pollMs, where: 'the ClickHouse server' };
      await eraseOnShard(new Replicas([server]), work, watch);
    },
    query: (sql, params) => server.rows(sql, params),
    waitForReplicas: () => Promise.resolve(),
    runTables: createRunTables({
      form: singleForm,
      async change(change) {
        for (const sql of runTableSql(change)) await server.command(sql);
      },
      insert: (into, batch, token) =>
        server.insert(insertSql(token, '', { table: runTableName(into), settings: [] }), batch),
      replicaRows: async (sql) => [[await server.rows(sql)]],
      query: (sql, params) => server.rows(sql, params),
      lines: (sql) => server.lines(sql),
    }),
    async health() {
      try {
        return healthOf(await server.rows<DamagedPart>(damagedPartsSql));
      } catch (error) {
        return { ok: false, detail: error instanceof Error ? error.message : String(error) };
      }
    },
    close: () => server.close(),
  };
}
