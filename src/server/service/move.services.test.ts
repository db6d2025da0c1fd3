/**
 * A cluster that moves to another one with other slots, shards and another event log: real processes, PostgreSQL, Kafka and one
 * ClickHouse; the other ClickHouse, with two shards, and the bucket are test doubles over HTTP.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaSettings, openCluster, type TestCluster } from '../../../test/support/cluster.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { compareWithLedger, Ledger, readAllEvents } from '../../../test/support/ledger.ts';
import { describeOnPostgres, useDatabase } from '../../../test/support/postgres-database.ts';
import { apiGet, personalKey, projectKey, tempDataDir, type TestServer } from '../../../test/support/server.ts';
import { connectClickhouse } from '../../stores/events/clickhouse/connect-clickhouse.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { moveStateInDatabase } from '../../stores/move/move-state.ts';

const program = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const clickhouseUrl = process.env['CLICKHOUSE_URL'] ?? '';
const clickhouseCluster = process.env['MILLRACE_CLICKHOUSE_CLUSTER'] ?? '';
const missing = [
  ...(clickhouseUrl === '' ? ['CLICKHOUSE_URL'] : []),
  ...(kafkaBrokers === '' ? ['KAFKA_BROKERS'] : []),
];
const reason = missing.length === 0 ? '' : ` (skipped: ${missing.join(' and ')} not set)`;

type Env = Readonly<Record<string, string>>;

/** As sent and as stored: numbers beyond a double, quotes, other scripts. */
const dirty = [
  String.raw`"id":1234567890123456789,"price":0.10`,
  String.raw`"text":"it's \"quoted\" \\ back\\slash","e":1e400`,
  String.raw`"emoji":"🛒 καλημέρα \u0001"`,
];

const dirtyEvents = dirty.map((text, n) => {
  const ids = `"uuid":"01920000-0000-7000-8000-00000000000${n}","distinct_id":"κ-${n}"`;
  return `{${ids},"event":"dirty ${n}","timestamp":"2026-11-20T10:00:00Z","properties":{${text}}}`;
});

async function send(server: TestServer, events: readonly string[]): Promise<void> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{"api_key":"${projectKey}","batch":[${events.join(',')}]}`,
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
}

/** Digest of the rows of every table in the schema, by name. Only the table of the move may be added. */
async function digestOf(db: Metadata): Promise<Readonly<Record<string, string>>> {
  const { rows: names } = await sql<{ name: string }>`select tablename as name from pg_tables
    where schemaname = 'public' and tablename <> 'move_to' order by 1`.execute(db);
  const digests: Record<string, string> = {};
  for (const { name } of names) {
    const { rows } = await sql<{ row: string }>`select t::text as row from ${sql.table(name)} as t order by 1`.execute(
      db,
    );
    digests[name] = createHash('sha256')
      .update(rows.map(({ row }) => row).join('\n'))
      .digest('hex');
  }
  return digests;
}

describe.skipIf(missing.length > 0)(`a cluster${reason}`, () => {
  describeOnPostgres('that moves to another cluster', (old) => {
    const target = useDatabase(process.env['DATABASE_URL'] ?? 'postgres://127.0.0.1/none');
    const events = `move_${randomUUID().replaceAll('-', '')}`;
    const oldEvents = Object.assign(new URL(clickhouseUrl || 'http://none'), { pathname: `/${events}` }).href;
    const ledger = new Ledger();
    let cluster: TestCluster;
    let oldEnv: Env;
    let persons: unknown;
    let before: Readonly<Record<string, string>>;

    const onServer = async (statement: string): Promise<void> => {
      const { username, password, origin } = new URL(clickhouseUrl);
      const on = clickhouseCluster === '' ? '' : ` ON CLUSTER '${clickhouseCluster}'`;
      const answer = await fetch(origin, {
        method: 'POST',
        body: statement + on,
        headers: { 'x-clickhouse-user': username, 'x-clickhouse-key': password },
      });
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    };
    const newLog = ['--to-event-log', 'postgres', '--to-slots', '9'];
    const move = (more: Env = {}, log = newLog): Promise<{ code: number | string; stdout: string; stderr: string }> => {
      const { env } = cluster;
      const to = ['--to-database-url', target.url, '--to-clickhouse-url', env['CLICKHOUSE_URL'] ?? ''];
      const shards = ['--to-clickhouse-cluster', env['MILLRACE_CLICKHOUSE_CLUSTER'] ?? ''];
      const replicas = ['--to-clickhouse-replicas', env['MILLRACE_CLICKHOUSE_REPLICAS'] ?? ''];
      return new Promise((resolve) => {
        const args = [program, 'move', '--json', ...to, ...shards, ...replicas, ...log];
        const settings = { PATH: process.env['PATH'], ...oldEnv, MILLRACE_LOG_LEVEL: 'warn', ...more };
        execFile(process.execPath, args, { env: settings, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
          resolve({ code: error?.signal ?? error?.code ?? 0, stdout, stderr });
        });
      });
    };
    const killedAt = (place: string) => move({ MILLRACE_FAIL_AT: place, MILLRACE_ALLOW_FAILPOINTS: 'true' });

    beforeAll(async () => {
      cluster = await openCluster(target.url, { slots: 9, eventLog: 'postgres', shards: 2 });
      await onServer(`CREATE DATABASE ${events}`);
      const cleared = Object.fromEntries(Object.keys(cluster.env).map((name) => [name, cluster.env[name] ?? '']));
      oldEnv = {
        ...cleared,
        MILLRACE_EVENT_LOG: 'auto',
        ...kafkaSettings(),
        DATABASE_URL: old.url,
        CLICKHOUSE_URL: oldEvents,
        MILLRACE_CLICKHOUSE_CLUSTER: clickhouseCluster,
        MILLRACE_CLICKHOUSE_REPLICAS: process.env['MILLRACE_CLICKHOUSE_REPLICAS'] ?? '',
        MILLRACE_SLOTS: '4',
        MILLRACE_DATA_DIR: '/nowhere/that/exists',
      };
    });
    afterAll(async () => {
      await cluster[Symbol.asyncDispose]();
      await onServer(`DROP DATABASE ${events}`);
    });

    it('is refused while one of its processes runs, from another log, to topics with records, and to fewer slots than a project is spread over', async () => {
      const all = await cluster.start('capture,pipeline,api,jobs', oldEnv);
      await ledger.sendUntilDown(all, 4, AbortSignal.timeout(1500), 20);
      await ledger.settle(all);
      await send(all, dirtyEvents);
      const spread = await fetch(`${all.url}/api/projects/@current/`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
        body: '{"spread":3}',
      });
      expect(spread.status).toBe(200);
      const sent = ledger.sent.size + dirty.length;
      await expect.poll(async () => (await readAllEvents(all)).length).toBe(sent);
      persons = await apiGet(all, '/api/projects/@current/persons/?distinct_id=person-7');
      expect((await move()).stderr).toMatch(
        /expected stores that no service uses, got DATABASE_URL, which one does; stop it/,
      );
      await all.kill();

      expect((await move({ MILLRACE_SLOTS: '5' })).stderr).toMatch(/got MILLRACE_SLOTS=5 and a database with 4 slots/);
      const elsewhere = { MILLRACE_KAFKA_TOPIC_PREFIX: `other-${randomUUID()}` };
      expect((await move(elsewhere)).stderr).toMatch(/expected the event log of the cluster to move, got: /);
      const few = ['--to-event-log', 'postgres', '--to-slots', '2'];
      expect((await move({}, few)).stderr).toMatch(
        /expected at least 3 slots in --to, over which the project \d+ is spread, got 2/,
      );
      // Its records would be read again.
      await using data = await tempDataDir();
      const file = join(data.path, 'same-topics.json');
      const { KAFKA_BROKERS: kafka_brokers, MILLRACE_KAFKA_TOPIC_PREFIX: kafka_topic_prefix } = oldEnv;
      await writeFile(file, JSON.stringify({ kafka_brokers, kafka_topic_prefix, slots: 4 }));
      expect((await move({}, ['--to', file])).stderr).toMatch(
        /expected new topics for the event log, got "[^"]+" and "[^"]+" with \d+ records/,
      );
      expect(await moveStateInDatabase(old.db).read()).toBeUndefined();
    });

    it('stores what waits in its log first; its processes refuse to start from then on', async () => {
      const capture = await cluster.start('capture', oldEnv);
      await ledger.sendUntilDown(capture, 4, AbortSignal.timeout(500), 20);
      await ledger.settle(capture);
      await capture.kill();
      const begun = await killedAt('move_begun');
      expect(begun).toMatchObject({
        code: 'SIGKILL',
        stderr: expect.stringMatching(/events are waiting in the log and are stored first/),
      });
      before = await digestOf(old.db);
      await expect(cluster.start('capture', oldEnv)).rejects.toThrow(
        /expected a database in use, got one that is being moved; run the same "millrace move" again/,
      );
    });

    it('is moved exactly once through kills, with every row compared, and stays as it was', async () => {
      for (const place of ['move_table:9', 'move_piece', 'move_month:2', 'move_done']) {
        expect([place, (await killedAt(place)).code]).toEqual([place, 'SIGKILL']);
      }
      const { code, stdout, stderr } = await move();
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const report = JSON.parse(stdout) as { readonly events: number; readonly rows: number };
      expect(report.events).toBe(ledger.sent.size + dirty.length);
      expect(await digestOf(old.db)).toEqual(before);
      const [from, to] = await Promise.all([
        storedIn(oldEvents, oldEnv),
        storedIn(cluster.env['CLICKHOUSE_URL'] ?? '', cluster.env),
      ]);
      expect(to).toEqual(from);
      for (const text of dirty) expect(to.filter(({ properties }) => properties.includes(text))).toHaveLength(1);
      await expect(cluster.start('api', oldEnv)).rejects.toThrow(
        /got one that was moved to other stores; start the service on those/,
      );
    });

    it('accepts events in other slots afterwards, drops those that are sent again, and has the same persons', async () => {
      const all = await cluster.start('capture,pipeline,api,jobs');
      await send(all, dirtyEvents);
      await ledger.sendUntilDown(all, 2, AbortSignal.timeout(500), 20);
      await ledger.settle(all);
      await expect.poll(async () => (await readAllEvents(all)).length).toBe(ledger.sent.size + dirty.length);
      const stored = (await readAllEvents(all)).filter(({ event }) => !event.startsWith('dirty '));
      expect(compareWithLedger(ledger, stored)).toEqual([]);
      expect(uuidIn(await apiGet(all, '/api/projects/@current/persons/?distinct_id=person-7'))).toBe(uuidIn(persons));
      expect(await target.db.selectFrom('slots').select('slot').execute()).toHaveLength(9);
      await all.kill();
    });

    it('is not moved while one of its ClickHouse servers does not answer: it could have events that the others lack', async () => {
      await cluster.clickhouse.stopReplica(1, 0);
      const { code, stderr } = await move({ ...cluster.env, MILLRACE_DATA_DIR: '/nowhere/that/exists' });
      expect(stderr).toMatch(
        /expected every server of the old ClickHouse cluster to have all events, got from 127\.0\.0\.1:\d+: /,
      );
      expect(code).toBe(1);
      expect(await moveStateInDatabase(target.db).read()).toBeUndefined();
    });
  });
});

function uuidIn(persons: unknown): string | undefined {
  return (persons as { results: readonly { uuid: string }[] }).results[0]?.uuid;
}

async function storedIn(url: string, env: Env): Promise<readonly { readonly properties: string }[]> {
  const store = await connectClickhouse(url, {
    cluster: env['MILLRACE_CLICKHOUSE_CLUSTER'] ?? '',
    replicas: env['MILLRACE_CLICKHOUSE_REPLICAS'] ?? '',
    migrates: false,
  });
  try {
    return await store.query('SELECT * FROM events FINAL ORDER BY uuid');
  } finally {
    await store.close();
  }
}
