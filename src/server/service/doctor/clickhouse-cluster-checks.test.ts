import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clickhousePart } from './clickhouse-checks.ts';
import { clickhouseClusterPart } from './clickhouse-cluster-checks.ts';
import { diagnose } from './doctor.fixture.ts';

/** What a server says about itself. Replicas that misbehave on request: their answers alone are a double. */
interface Said {
  version: string;
  shard: string | undefined;
  replica: string | undefined;
  engine: string;
  readOnly: number;
  total: number;
  delay: string;
  free: string;
  stuck: readonly object[] | string;
}

const shards = 2;
const replicas = 3;
const free = String(100 * 1024 ** 3);

describe('checks of a ClickHouse cluster', () => {
  let servers: readonly Server[];
  let said: Said[];
  let layout: { shard_num: number; shard_weight: number; host_name: string }[];
  let stored: number[];

  const portOf = (at: number): number => ((servers[at] as Server).address() as AddressInfo).port;
  const answer = (sql: string, at: number): readonly object[] | string => {
    const own = said[at] as Said;
    const macro = (name: string, value: string | undefined) =>
      value === undefined
        ? `Code: 139. DB::Exception: No macro '${name}' in config. (NO_ELEMENTS_IN_CONFIG)`
        : [{ value }];
    if (sql.startsWith('SELECT version()')) return [{ version: own.version }];
    if (/FROM system\.clusters/.test(sql)) return layout;
    if (/getMacro\('shard'\)/.test(sql)) return macro('shard', own.shard);
    if (/getMacro\('replica'\)/.test(sql)) return macro('replica', own.replica);
    if (/FROM cluster_layout/.test(sql)) return [{ weights: stored }];
    if (/FROM system\.replicas/.test(sql))
      return [{ read_only: own.readOnly, total: own.total, active: 3, delay: own.delay }];
    if (/FROM system\.distributed_ddl_queue/.test(sql)) return own.stuck;
    if (/count\(\) AS found FROM system\.tables/.test(sql)) return [{ found: 1 }];
    if (/FROM system\.tables/.test(sql))
      return [
        { name: 'events', engine: 'Distributed' },
        { name: 'events_local', engine: own.engine },
      ];
    if (/FROM schema_version/.test(sql)) return [{ version: 4 }];
    if (/filesystemAvailable/.test(sql)) return [{ free: own.free }];
    if (/toUnixTimestamp64Milli/.test(sql)) return [{ now: String(Date.now()) }];
    return [];
  };

  beforeAll(async () => {
    servers = Array.from({ length: shards * replicas }, (_, at) =>
      createServer((request, response) => {
        void (async () => {
          const sql = new URL(request.url ?? '', 'http://ch').searchParams.get('query') ?? (await text(request));
          if (request.url === '/ping') return response.end('Ok.\n');
          if (sql.startsWith('CHECK GRANT')) return response.end('1\n');
          const found = answer(sql, at);
          if (typeof found === 'string')
            return response.writeHead(500, { 'x-clickhouse-exception-code': '139' }).end(found);
          return response.end(found.map((row) => `${JSON.stringify(row)}\n`).join(''));
        })();
      }),
    );
    for (const server of servers) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  });
  afterAll(() => servers.forEach((server) => server.close()));

  beforeEach(() => {
    said = Array.from({ length: shards * replicas }, (_, at) => ({
      version: '25.8.1.1',
      shard: String(Math.floor(at / replicas) + 1),
      replica: String((at % replicas) + 1),
      engine: 'ReplicatedReplacingMergeTree',
      readOnly: 0,
      total: replicas,
      delay: '0',
      free,
      stuck: [],
    }));
    layout = said.map((_, at) => ({ shard_num: Math.floor(at / replicas) + 1, shard_weight: 1, host_name: `ch${at}` }));
    stored = [1, 1];
  });

  const addresses = (): string[] => said.map((_, at) => `127.0.0.1:${portOf(at)}`);
  const found = async (names = addresses(), perShard = replicas) => {
    const groups = Array.from({ length: shards }, (_, shard) =>
      names.slice(shard * perShard, (shard + 1) * perShard).join(','),
    );
    const env = {
      CLICKHOUSE_URL: `http://millrace:hunter2@${addresses()[0]}/m`,
      MILLRACE_CLICKHOUSE_CLUSTER: 'main',
      MILLRACE_CLICKHOUSE_REPLICAS: groups.join(';'),
    };
    return (await diagnose(env, [clickhousePart, clickhouseClusterPart])).faults();
  };
  it('find nothing in a right cluster, nor before its first statement ON CLUSTER', async () => {
    expect(await found()).toEqual([]);
    (said[0] as Said).stuck =
      'Code: 999. Coordination error: No node, path /clickhouse/task_queue/ddl. (KEEPER_EXCEPTION)';
    expect(await found()).toEqual([]);
  });

  it.each<[string, string, RegExp, () => void]>([
    [
      'clickhouse_version',
      'failed',
      /expected 24\.8 or newer, got 24\.3\.1\.1/,
      () => ((said[4] as Said).version = '24.3.1.1'),
    ],
    ['clickhouse_disk', 'failed', /127\.0\.0\.1:\d+: 0\.5 GiB free/, () => ((said[4] as Said).free = String(2 ** 29))],
    ['clickhouse_disk', 'warning', /5\.0 GiB free/, () => ((said[4] as Said).free = String(5 * 2 ** 30))],
    [
      'clickhouse_macros',
      'failed',
      /expected a macro \{replica\}, got none/,
      () => ((said[5] as Said).replica = undefined),
    ],
    [
      'clickhouse_macro_values',
      'failed',
      /servers of shard 2 have the same \{replica\}: 2/,
      () => ((said[5] as Said).replica = '2'),
    ],
    [
      'clickhouse_macro_values',
      'failed',
      /shards 1 and 2 have the same \{shard\}: 1/,
      () => said.forEach((each) => (each.shard = '1')),
    ],
    [
      'clickhouse_tables',
      'failed',
      /expected tables of a cluster, got events_local with the engine MergeTree/,
      () => ((said[1] as Said).engine = 'MergeTree'),
    ],
    ['clickhouse_shards', 'failed', /weights 2, 1/, () => (stored = [2, 1])],
    [
      'clickhouse_quorum',
      'warning',
      /shard 1: 2 of 3 replicas accept inserts, not 127/,
      () => ((said[2] as Said).readOnly = 1),
    ],
    [
      'clickhouse_quorum',
      'failed',
      /shard 2: 1 of 3 replicas/,
      () => said.slice(4).forEach((each) => (each.readOnly = 1)),
    ],
    [
      'clickhouse_keeper_path',
      'failed',
      /shard 1: expected 3 registered replicas, got 6/,
      () => ((said[0] as Said).total = 6),
    ],
    ['clickhouse_lag', 'warning', /is 120 s behind/, () => ((said[3] as Said).delay = '120')],
    [
      'clickhouse_ddl_queue',
      'failed',
      /query-0000000007 has waited for ch5 for 900 s/,
      () => ((said[0] as Said).stuck = [{ entry: 'query-0000000007', host: 'ch5', seconds: '900' }]),
    ],
  ])('%s (%s) is found: %s', async (code, state, detail, plant) => {
    plant();
    expect(await found()).toMatchObject([
      { code, state, detail: expect.stringMatching(detail), advice: expect.stringMatching(/\.$/) },
    ]);
  });

  it('an unknown cluster, another number of shards, few replicas and a server that does not answer are found', async () => {
    const codes = (faults: Awaited<ReturnType<typeof found>>): Record<string, string> =>
      Object.fromEntries(faults.map(({ code, detail }) => [code, detail]));
    expect(codes(await found(addresses().slice(0, 4), 2))['clickhouse_copies']).toBe('shard 2 has 2 of 3 replicas');
    const [first = '', ...rest] = addresses();
    expect(codes(await found([first, '127.0.0.1:9', ...rest.slice(1)]))).toMatchObject({
      clickhouse_servers: 'no answer from 127.0.0.1:9',
      clickhouse_quorum: expect.stringContaining('2 of 3 replicas accept inserts, not 127.0.0.1:9'),
    });
    layout = layout.slice(0, 3);
    expect(codes(await found())['clickhouse_cluster']).toContain('to name 1 shards, as the cluster main has, got 2');
    layout = [];
    expect(codes(await found())['clickhouse_cluster']).toContain('to have a cluster main');
  });
});
