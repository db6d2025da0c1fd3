import type { ClickhouseServer } from '../stores.ts';
import { inspectClickhouse } from '../stores.ts';
import { definePart, type Fault, type Outcome } from './check.ts';
import { onEach, type ClickhouseSubject } from './clickhouse-checks.ts';

const lagSecondsMax = 10;
const ddlSecondsMax = 60;
const table = 'events_local';

export const clickhouseClusterPart = definePart<ClickhouseSubject>({
  title: 'ClickHouse cluster',
  applies: ({ settings }) => settings.clickhouseUrl !== '' && settings.clickhouseCluster !== '',
  open: async ({ settings }) => ({ ...(await inspectClickhouse(settings)), settings }),
  checks: {
    clickhouse_cluster: {
      checks:
        'the servers have the cluster of `MILLRACE_CLICKHOUSE_CLUSTER`, with as many shards as `MILLRACE_CLICKHOUSE_REPLICAS`',
      severity: 'failed',
      advice: 'Correct these settings, or `remote_servers` in the configuration of the servers.',
      find: async ({ shards }) => {
        const found = await shards();
        return `shards with ${found.map((servers) => servers.length).join(', ')} replicas`;
      },
    },
    clickhouse_shards: {
      checks: 'the shards and their weights are those that events were stored on',
      severity: 'failed',
      advice: 'Restore the shards in `remote_servers`: events stay where they are, and would be looked for elsewhere.',
      find: async ({ schema, checkShards }) => {
        if ((await schema()).version === 0) return 'no tables yet';
        await checkShards();
        return [];
      },
    },
    clickhouse_servers: {
      checks: 'every server of the cluster answers at its address',
      severity: 'failed',
      advice:
        'Start the server; if only this machine cannot reach it, name reachable addresses in `MILLRACE_CLICKHOUSE_REPLICAS`.',
      find: async ({ shards }) => {
        const servers = (await shards()).flat();
        const answered = await Promise.all(servers.map(async (server) => await server.answers()));
        return servers.filter((_, at) => answered[at] !== true).map(({ host }) => `no answer from ${host}`);
      },
    },
    clickhouse_copies: {
      checks: 'every shard has three replicas, so that storing continues without one of them',
      severity: 'warning',
      advice: 'Add replicas: with two, inserts wait while one is down; with one, its disk has the only copy.',
      find: async ({ shards }) =>
        (await shards()).flatMap(({ length }, at) =>
          length < 3 ? [`shard ${at + 1} has ${length} of 3 replicas`] : [],
        ),
    },
    clickhouse_macros: {
      checks: 'every server has the macros `{shard}` and `{replica}`',
      severity: 'failed',
      advice: 'Add `<macros><shard>…</shard><replica>…</replica></macros>` to the configuration of the server.',
      find: async (subject) => await onEach(subject, async (server) => (await macrosOf(server)).missing),
    },
    clickhouse_macro_values: {
      checks: 'servers of a shard have the same `{shard}`, which no other shard has, and different `{replica}`',
      severity: 'failed',
      advice:
        'Correct the macros of the servers before tables are created: replicas with the same path and name overwrite each other, and shards with the same path have the same rows.',
      find: findMacroValues,
    },
    clickhouse_quorum: {
      checks: 'most replicas of every shard accept inserts, and none is read-only',
      severity: 'warning',
      advice:
        'Start ClickHouse Keeper and the replicas; for a table that stays read-only: `SYSTEM RESTART REPLICA events_local`, or replace the server as docs/guides/clickhouse-cluster.md describes.',
      find: findQuorum,
    },
    clickhouse_keeper_path: {
      checks: 'the replicas registered in ClickHouse Keeper are those of the shard',
      severity: 'failed',
      advice:
        'Another cluster uses the same Keeper, database and `{shard}`: give one of them another database. Remove a replica that does not exist any more with `SYSTEM DROP REPLICA`.',
      find: async ({ shards }) => {
        const states = await replicaStates(await shards());
        return states.flatMap((members, at) => {
          const registered = Math.max(0, ...members.map(({ state }) => Number(state?.total ?? 0)));
          if (registered <= members.length) return [];
          return [`shard ${at + 1}: expected ${members.length} registered replicas, got ${registered}`];
        });
      },
    },
    clickhouse_lag: {
      checks: 'no replica is more than 10 s behind',
      severity: 'warning',
      advice: 'Check the disk, the network and the load of the replica; reads use another one in the meantime.',
      find: async ({ shards }) =>
        (await replicaStates(await shards()))
          .flat()
          .filter(({ state }) => Number(state?.delay ?? 0) > lagSecondsMax)
          .map(({ server, state }) => `${server.host} is ${state?.delay} s behind`),
    },
    clickhouse_ddl_queue: {
      checks: 'no `ON CLUSTER` statement waits for more than a minute',
      severity: 'failed',
      advice:
        'Start the servers that it waits for, or check `distributed_ddl` and Keeper on them: tables cannot be created or changed until then.',
      find: findStuckStatements,
    },
  },
});

interface Macros {
  readonly shard: string | undefined;
  readonly replica: string | undefined;
  readonly missing: readonly string[];
}

async function macrosOf(server: ClickhouseServer): Promise<Macros> {
  const [shard, replica] = await Promise.all([macroOf(server, 'shard'), macroOf(server, 'replica')]);
  const missing = Object.entries({ shard, replica }).filter(([, value]) => value === undefined);
  return { shard, replica, missing: missing.map(([name]) => `expected a macro {${name}}, got none`) };
}

/** NO_ELEMENTS_IN_CONFIG, also of a server without any macro. */
const isMissingMacro = (error: unknown): boolean =>
  error instanceof Error && /Code: (139|62)[.,]|No macro/.test(error.message);

async function macroOf(server: ClickhouseServer, name: 'shard' | 'replica'): Promise<string | undefined> {
  try {
    const [row] = await server.rows<{ value: string }>(`SELECT getMacro('${name}') AS value`);
    return row?.value;
  } catch (error) {
    if (isMissingMacro(error)) return undefined;
    throw error;
  }
}

async function findMacroValues({ shards }: ClickhouseSubject): Promise<Outcome> {
  const faults: string[] = [];
  const shardOf = new Map<string, number>();
  for (const [at, servers] of (await shards()).entries()) {
    const answering = await Promise.all(
      servers.map(async (server) => ((await server.answers()) ? await macrosOf(server) : undefined)),
    );
    const values = answering.filter((macros) => macros !== undefined);
    const names = [...new Set(values.flatMap(({ shard }) => shard ?? []))];
    if (names.length > 1) faults.push(`servers of shard ${at + 1} have different {shard}: ${names.join(', ')}`);
    for (const name of names) {
      const other = shardOf.get(name);
      if (other !== undefined) faults.push(`shards ${other + 1} and ${at + 1} have the same {shard}: ${name}`);
      shardOf.set(name, at);
    }
    const replicas = values.flatMap(({ replica }) => replica ?? []);
    const repeated = replicas.filter((name, index) => replicas.indexOf(name) !== index);
    if (repeated.length > 0)
      faults.push(`servers of shard ${at + 1} have the same {replica}: ${[...new Set(repeated)].join(', ')}`);
  }
  return faults;
}

interface ReplicaState {
  readonly read_only: number;
  readonly total: number;
  readonly active: number;
  readonly delay: string;
}

interface Member {
  readonly server: ClickhouseServer;
  /** `undefined` if the server does not answer or has no table. */
  readonly state: ReplicaState | undefined;
}

async function replicaStates(
  shards: readonly (readonly ClickhouseServer[])[],
): Promise<readonly (readonly Member[])[]> {
  const sql = `SELECT toUInt8(is_readonly OR is_session_expired) AS read_only, total_replicas AS total, active_replicas AS active,
absolute_delay AS delay FROM system.replicas WHERE database = currentDatabase() AND table = '${table}'`;
  const stateOf = async (server: ClickhouseServer): Promise<Member> => {
    const [state] = (await server.answers()) ? await server.rows<ReplicaState>(sql) : [];
    return { server, state };
  };
  return await Promise.all(shards.map(async (servers) => await Promise.all(servers.map(stateOf))));
}

async function findQuorum({ shards, schema }: ClickhouseSubject): Promise<Outcome> {
  if ((await schema()).version === 0) return 'no tables yet';
  return (await replicaStates(await shards())).flatMap((members, at): Fault[] => {
    const accepting = members.filter(({ state }) => state?.read_only === 0);
    const needed = Math.floor(members.length / 2) + 1;
    const others = members.filter((member) => !accepting.includes(member)).map(({ server }) => server.host);
    if (others.length === 0) return [];
    const detail = `shard ${at + 1}: ${accepting.length} of ${members.length} replicas accept inserts, not ${others.join(', ')}`;
    return [accepting.length < needed ? { detail, severity: 'failed' } : detail];
  });
}

/** Keeper has no queue before the first statement. */
const hasNoQueue = ({ message }: Error): boolean => /Code: 999[.,].*No node/s.test(message);

async function findStuckStatements({ server, settings }: ClickhouseSubject): Promise<Outcome> {
  const sql = `SELECT entry, host, dateDiff('second', query_create_time, now()) AS seconds FROM system.distributed_ddl_queue
WHERE cluster = {cluster:String} AND status IN ('Inactive', 'Active') AND query_create_time < now() - ${ddlSecondsMax}
ORDER BY entry LIMIT 5`;
  const params = { cluster: settings.clickhouseCluster };
  const rows = await server
    .rows<{ entry: string; host: string; seconds: string }>(sql, params)
    .catch((error: unknown) => {
      if (error instanceof Error && hasNoQueue(error)) return [];
      throw error;
    });
  return rows.map(({ entry, host, seconds }) => `${entry} has waited for ${host} for ${seconds} s`);
}
