/**
 * Runs a command with its own ClickHouse cluster: `node tools/with-clickhouse.ts [--optional] -- command …`.
 *
 * If a `clickhouse` binary is on the PATH (or at CLICKHOUSE_BINARY): two shards of three replicas each (other numbers by SHARDS and
 * REPLICAS), and ClickHouse Keeper, as separate servers on loopback with data in a temporary directory. Otherwise, with --optional, one real server without a cluster
 * if python3 can load the library of chDB, which contains all of ClickHouse (tools/serve-chdb.py), or no server. Otherwise a test double in
 * one process, the engine (chDB) behind ClickHouse's HTTP interface: shards are databases, NOTHING REPLICATES, as the output reports.
 *
 * The command finds it through CLICKHOUSE_URL and, of a cluster, MILLRACE_CLICKHOUSE_CLUSTER and MILLRACE_CLICKHOUSE_REPLICAS. On real
 * servers CLICKHOUSE_GRANTED_URL is the address of a user with the rights of docs/guides/clickhouse-cluster.md and no others, and
 * CLICKHOUSE_UNSUITABLE_URL that of one who lacks rights and whose profile changes what queries return, and CLICKHOUSE_READER_URL that of
 * the user of docs/guides/query-events.md. Of real replicas CLICKHOUSE_REPLICA_HOMES holds the directories, in the order of MILLRACE_CLICKHOUSE_REPLICAS, and CLICKHOUSE_KEEPER_HOME
 * that of Keeper: test/support/clickhouse-servers.ts stops and starts them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readerOfGuide, rightsOfGuide } from '../test/support/clickhouse-rights.ts';
import { findBinary, findLibrary } from '../test/support/find-clickhouse.ts';
import { killClickhouse, startClickhouse } from '../test/support/clickhouse-servers.ts';
import { freePort, parseCommand, runCommand } from './with-server.ts';

const usage = 'usage: node tools/with-clickhouse.ts [--optional] -- command [argument …]';
const shards = countOf('SHARDS', 2);
const replicas = countOf('REPLICAS', 3);
const cluster = 'millrace';
/** Not `default`: some builds of the engine keep that one for themselves. */
const user = 'millrace';
const password = 'millrace-test';
const database = 'millrace';
/** A database, and the user who has rights on it alone. */
const granted = 'granted';
/** A user of that database who lacks rights, with a profile of that name. */
const unsuitable = 'unsuitable';
/** The user of docs/guides/query-events.md, with a profile of that name. */
const reader = 'reader';
const startMs = 120_000;
/** As the packages of ClickHouse have it: tables of the system are for those who were given them. */
const strictAccess = `<access_control_improvements>
<select_from_system_db_requires_grant>true</select_from_system_db_requires_grant>
<select_from_information_schema_requires_grant>true</select_from_information_schema_requires_grant>
<on_cluster_queries_require_cluster_grant>true</on_cluster_queries_require_cluster_grant>
<table_engines_require_grant>true</table_engines_require_grant>
</access_control_improvements>`;

/** Erasing waits for replaced parts to be removed, which replicas do after 13 minutes at most unless they are set to seconds. */
const soonRemoved = `<merge_tree><old_parts_lifetime>1</old_parts_lifetime><cleanup_delay_period>1</cleanup_delay_period>
<max_cleanup_delay_period>2</max_cleanup_delay_period><cleanup_delay_period_random_add>0</cleanup_delay_period_random_add></merge_tree>`;

type Env = Readonly<Record<string, string>>;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args, ['--optional']);
  if (command === undefined) {
    console.error(usage);
    return 2;
  }
  const work = (env: Env): Promise<number> => runCommand(command.program, command.args, env);
  if (findBinary() !== undefined) return await withServers(work);
  const missing = 'no ClickHouse cluster: expected `clickhouse` on the PATH or at CLICKHOUSE_BINARY, found none';
  if (command.options.has('--optional')) {
    const library = findLibrary();
    const instead = library === undefined ? 'tests that need a server are skipped' : 'one server takes its place';
    console.error(`${missing}; ${instead}, and REPLICATION WAS NOT TESTED`);
    return library === undefined ? await work({}) : await withSingleServer(library, work);
  }
  console.error(`${missing}; a stand-in over chDB takes its place: REPLICATION WAS NOT TESTED`);
  return await withStandIn(work);
}

/** How many, by an environment variable. */
function countOf(name: string, usual: number): number {
  const value = process.env[name] ?? String(usual);
  if (!/^[1-9]$/u.test(value))
    throw new Error(`expected ${name} to be a number from 1 to 9, got ${JSON.stringify(value)}`);
  return Number(value);
}

async function withSingleServer(library: string, work: (env: Env) => Promise<number>): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-clickhouse-'));
  const node: Node = { shard: 0, replica: 0, ports: await freePorts() };
  const log = join(directory, 'out.log');
  await writeFile(join(directory, 'config.xml'), singleConfigOf(directory, node));
  const program = fileURLToPath(new URL('serve-chdb.py', import.meta.url));
  const output = openSync(log, 'a');
  const server = spawn('python3', [program, library, directory], { cwd: directory, stdio: ['ignore', output, output] });
  try {
    await untilReady(node, log, 'SELECT 1');
    for (const name of [database, granted]) await ask(node, `CREATE DATABASE IF NOT EXISTS ${name}`);
    return await work({
      CLICKHOUSE_URL: urlOf(node),
      CLICKHOUSE_GRANTED_URL: grantedUrlOf(node),
      CLICKHOUSE_UNSUITABLE_URL: grantedUrlOf(node, unsuitable),
      CLICKHOUSE_READER_URL: urlOf(node, reader),
    });
  } finally {
    await stop(server);
    await rm(directory, { recursive: true, force: true });
  }
}

async function withStandIn(work: (env: Env) => Promise<number>): Promise<number> {
  const { ClickhouseStandIn, standInCluster } = await import('../test/support/clickhouse-stand-in.ts');
  const standIn = new ClickhouseStandIn({ shards, replicas });
  try {
    const url = await standIn.listen();
    return await work({
      CLICKHOUSE_URL: url,
      MILLRACE_CLICKHOUSE_CLUSTER: standInCluster,
      MILLRACE_CLICKHOUSE_REPLICAS: standIn.replicas,
    });
  } finally {
    await standIn.close();
  }
}

interface Node {
  /** `undefined` for Keeper's server, which has no rows. */
  readonly shard: number | undefined;
  readonly replica: number;
  readonly ports: { readonly http: number; readonly tcp: number; readonly interserver: number };
}

async function withServers(work: (env: Env) => Promise<number>): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-clickhouse-'));
  const homes: string[] = [];
  try {
    const nodes = await makeNodes();
    const keeper = { port: await freePort(), raft: await freePort() };
    // Not on a server with rows, so that each of those can be stopped without the others.
    const all = [{ shard: undefined, replica: 0, ports: await freePorts() }, ...nodes];
    for (const [at, node] of all.entries())
      homes.push(await prepareServer(join(directory, String(at)), nodes, node, keeper));
    for (const home of homes) startClickhouse(home);
    for (const [at, node] of nodes.entries()) await untilReady(node, join(homes[at + 1] ?? '', 'out.log'));
    for (const node of nodes)
      for (const name of [database, granted]) await ask(node, `CREATE DATABASE IF NOT EXISTS ${name}`);
    const byShard = (of: (node: Node, at: number) => string): string =>
      [...Map.groupBy(nodes.entries(), ([, { shard }]) => shard).values()]
        .map((members) => members.map(([at, node]) => of(node, at)).join(','))
        .join(';');
    return await work({
      CLICKHOUSE_URL: urlOf(nodes[0] as Node),
      CLICKHOUSE_GRANTED_URL: grantedUrlOf(nodes[0] as Node),
      CLICKHOUSE_UNSUITABLE_URL: grantedUrlOf(nodes[0] as Node, unsuitable),
      CLICKHOUSE_READER_URL: urlOf(nodes[0] as Node, reader),
      MILLRACE_CLICKHOUSE_CLUSTER: cluster,
      MILLRACE_CLICKHOUSE_REPLICAS: byShard(({ ports }) => `127.0.0.1:${ports.http}`),
      CLICKHOUSE_REPLICA_HOMES: byShard((_, at) => homes[at + 1] ?? ''),
      CLICKHOUSE_KEEPER_HOME: homes[0] ?? '',
    });
  } finally {
    for (const home of homes) await killClickhouse(home);
    await rm(directory, { recursive: true, force: true });
  }
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = once(server, 'exit');
  server.kill('SIGKILL');
  await gone;
}

function urlOf({ ports }: Node, name = user): string {
  return `http://${name}:${password}@127.0.0.1:${ports.http}/${database}`;
}

function grantedUrlOf({ ports }: Node, name = granted): string {
  return `http://${name}:${password}@127.0.0.1:${ports.http}/${granted}`;
}

async function makeNodes(): Promise<Node[]> {
  const nodes: Node[] = [];
  for (let shard = 0; shard < shards; shard++) {
    for (let replica = 0; replica < replicas; replica++) nodes.push({ shard, replica, ports: await freePorts() });
  }
  return nodes;
}

async function freePorts(): Promise<Node['ports']> {
  return { http: await freePort(), tcp: await freePort(), interserver: await freePort() };
}

async function prepareServer(home: string, nodes: readonly Node[], node: Node, keeper: KeeperPorts): Promise<string> {
  await mkdir(home);
  await writeFile(join(home, 'config.xml'), configOf(home, nodes, node, keeper));
  return home;
}

interface KeeperPorts {
  readonly port: number;
  readonly raft: number;
}

function configOf(home: string, nodes: readonly Node[], { shard, replica, ports }: Node, keeper: KeeperPorts): string {
  const member = ({ ports: { tcp } }: Node): string =>
    `<replica><host>127.0.0.1</host><port>${tcp}</port><user>${user}</user><password>${password}</password></replica>`;
  const shardOf = (at: number): string =>
    `<shard><internal_replication>true</internal_replication>${nodes
      .filter((node) => node.shard === at)
      .map(member)
      .join('')}</shard>`;
  const members = Array.from({ length: shards }, (_, at) => shardOf(at)).join('');
  const keeperServer = `<keeper_server><tcp_port>${keeper.port}</tcp_port><server_id>1</server_id>
<log_storage_path>${home}/keeper/log</log_storage_path><snapshot_storage_path>${home}/keeper/snapshots</snapshot_storage_path>
<raft_configuration><server><id>1</id><hostname>127.0.0.1</hostname><port>${keeper.raft}</port></server></raft_configuration></keeper_server>`;
  return `<clickhouse>
<logger><level>warning</level><console>true</console></logger>
<listen_host>127.0.0.1</listen_host><interserver_http_host>127.0.0.1</interserver_http_host>
<http_port>${ports.http}</http_port><tcp_port>${ports.tcp}</tcp_port><interserver_http_port>${ports.interserver}</interserver_http_port>
<path>${home}/data/</path><tmp_path>${home}/tmp/</tmp_path><user_files_path>${home}/files/</user_files_path>
<max_server_memory_usage>1000000000</max_server_memory_usage><mark_cache_size>50000000</mark_cache_size>
<users>${usersOfTests()}</users>${profiles()}<quotas><default/></quotas>
${strictAccess}
${soonRemoved}
<background_pool_size>16</background_pool_size><background_fetches_pool_size>16</background_fetches_pool_size>
<macros><shard>${(shard ?? -1) + 1}</shard><replica>${replica + 1}</replica></macros>
<zookeeper><node><host>127.0.0.1</host><port>${keeper.port}</port></node></zookeeper>
<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
<remote_servers><${cluster}>${members}</${cluster}></remote_servers>
${shard === undefined ? keeperServer : ''}
</clickhouse>
`;
}

function userOf(
  name: string,
  secret: string,
  { rights = '<access_management>1</access_management>', profile = 'default' } = {},
): string {
  return `<${name}><password>${secret}</password><networks><ip>127.0.0.1</ip></networks><profile>${profile}</profile><quota>default</quota>
${rights}</${name}>`;
}

function usersOfTests(): string {
  return `${userOf(user, password)}${grantedUser()}${unsuitableUser()}${readingUser()}`;
}

/** By the configuration, because the library's server keeps no users that are made by statements. */
function grantedUser(): string {
  const queries = rightsOfGuide().map((sql) => {
    const right = sql.replace(`${database}.*`, `${granted}.*`).replace(` TO ${user}`, '');
    return `<query>${right}</query>`;
  });
  return userOf(granted, password, { rights: `<grants>${queries.join('')}</grants>` });
}

function unsuitableUser(): string {
  const rights = `<grants><query>GRANT SELECT ON ${granted}.*</query></grants>`;
  return userOf(unsuitable, password, { rights, profile: unsuitable });
}

function readingUser(): string {
  const queries = readerOfGuide().grants.map((sql) => `<query>${sql}</query>`);
  return userOf(reader, password, { rights: `<grants>${queries.join('')}</grants>`, profile: reader });
}

function readingProfile(): string {
  const { settings } = readerOfGuide();
  const values = settings.map(({ name, value }) => `<${name}>${value}</${name}>`).join('');
  const limits = settings
    .filter(({ max }) => max !== undefined)
    .map(({ name, min, max }) => `<${name}><min>${min}</min><max>${max}</max></${name}>`);
  return `<${reader}>${values}<constraints>${limits.join('')}</constraints></${reader}>`;
}

/** The first ends results without an error, the second changes them, the third is one that statements set. */
function profiles(): string {
  return `<profiles><default/><${unsuitable}><result_overflow_mode>break</result_overflow_mode><join_use_nulls>1</join_use_nulls>
<max_partitions_per_insert_block>7</max_partitions_per_insert_block><constraints><max_partitions_per_insert_block><readonly/></max_partitions_per_insert_block></constraints></${unsuitable}>${readingProfile()}</profiles>`;
}

/**
 * The library runs its first statements as a user `default` without a password. It sizes its background pools for a command; here they
 * have the sizes that a server's have.
 */
function singleConfigOf(home: string, { ports }: Node): string {
  return `<clickhouse>
<listen_host>127.0.0.1</listen_host><http_port>${ports.http}</http_port><tcp_port>${ports.tcp}</tcp_port>
<user_files_path>${home}</user_files_path><users_config>${home}/config.xml</users_config>
<max_server_memory_usage>1000000000</max_server_memory_usage><mark_cache_size>50000000</mark_cache_size>
${strictAccess}
<background_pool_size>16</background_pool_size><background_schedule_pool_size>16</background_schedule_pool_size>
<users>${userOf('default', '')}${usersOfTests()}</users>${profiles()}<quotas><default/></quotas>
</clickhouse>
`;
}

async function ask({ ports }: Node, sql: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${ports.http}/`, {
    method: 'POST',
    body: sql,
    headers: { 'x-clickhouse-user': user, 'x-clickhouse-key': password },
  });
  if (!response.ok) throw new Error(`expected ClickHouse to run ${sql}, got: ${await response.text()}`);
}

async function untilReady(
  node: Node,
  log: string,
  question = "SELECT 1 FROM system.zookeeper WHERE path = '/' LIMIT 1",
): Promise<void> {
  const deadline = Date.now() + startMs;
  for (;;) {
    const isReady = await ask(node, question).then(
      () => true,
      () => false,
    );
    if (isReady) return;
    if (Date.now() > deadline) {
      console.error(await readFile(log, 'utf8'));
      throw new Error(`expected ClickHouse to answer within ${startMs / 1000} s, got nothing; its log is above`);
    }
    await sleep(200);
  }
}
