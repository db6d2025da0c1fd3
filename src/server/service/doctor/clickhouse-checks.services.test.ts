import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectClickhouse } from '../../../stores/events/clickhouse/connect-clickhouse.ts';
import { connectServer, type ClickhouseServer } from '../../../stores/events/clickhouse/server.ts';
import { clickhousePart } from './clickhouse-checks.ts';
import { diagnose } from './doctor.fixture.ts';

const {
  CLICKHOUSE_URL: url = '',
  CLICKHOUSE_GRANTED_URL: grantedUrl = '',
  CLICKHOUSE_UNSUITABLE_URL: unsuitableUrl = '',
} = process.env;
/** Checks of a single server: with replicas, tools/with-clickhouse.ts sets these as well. */
const isHere = unsuitableUrl !== '' && process.env['MILLRACE_CLICKHOUSE_CLUSTER'] === undefined;

describe.skipIf(!isHere)('checks of a ClickHouse server', () => {
  const database = `doctor_${randomUUID().replaceAll('-', '')}`;
  const ownUrl = isHere ? Object.assign(new URL(url), { pathname: `/${database}` }).href : '';
  let server: ClickhouseServer;
  beforeAll(async () => {
    server = connectServer(new URL(url), { queryTimeoutMs: 30_000 });
    await server.command(`CREATE DATABASE ${database}`);
    await (await connectClickhouse(ownUrl)).close();
  });
  afterAll(async () => {
    await server.command(`DROP DATABASE ${database}`);
    await server.close();
  });
  afterEach(() => vi.useRealTimers());
  const found = async (more: Readonly<Record<string, string>> = {}) =>
    (await diagnose({ CLICKHOUSE_URL: ownUrl, ...more }, [clickhousePart])).faults();

  it('find nothing on a right server, also for a user with only the rights of the guide', async () => {
    expect(await found()).toEqual([]);
    expect(await found({ CLICKHOUSE_URL: grantedUrl })).toEqual([]);
  });

  it('a server, user or database that is not there is one fault, without the password', async () => {
    const wrong = Object.assign(new URL(ownUrl), { password: 'hunter2' }).href;
    for (const [address, detail] of [
      ['http://me:hunter2@127.0.0.1:9/m', /^cannot use ClickHouse at http:\/\/127\.0\.0\.1:9: .*ECONNREFUSED/],
      [wrong, /Authentication failed/],
      [Object.assign(new URL(url), { pathname: '/none' }).href, /none.*does not exist.*Create the database/],
    ] as const) {
      const { faults, findings } = await diagnose({ CLICKHOUSE_URL: address }, [clickhousePart]);
      expect(faults()).toMatchObject([
        { code: 'clickhouse_reachable', state: 'failed', detail: expect.stringMatching(detail) },
      ]);
      expect(JSON.stringify(findings)).not.toContain('hunter2');
    }
  });

  it('missing rights and a profile that changes inserts and results are found', async () => {
    const faults = await found({ CLICKHOUSE_URL: unsuitableUrl });
    const details = (code: string): string[] =>
      faults.filter((fault) => fault.code === code).map(({ detail }) => detail);
    expect(details('clickhouse_rights')).toContainEqual(expect.stringMatching(/: GRANT SELECT ON system\.parts$/));
    expect(details('clickhouse_rights')).toContainEqual(
      expect.stringMatching(/: GRANT SELECT, INSERT, CREATE TABLE, DROP TABLE ON `granted`\.\*$/),
    );
    expect(details('clickhouse_overflow')).toEqual(['result_overflow_mode is break']);
    expect(details('clickhouse_result_settings')).toEqual(['join_use_nulls is 1, which changes joined columns']);
    expect(details('clickhouse_constraints')).toEqual([
      'the user must not change max_partitions_per_insert_block, which is 7',
    ]);
  });

  it('newer tables and those of a cluster are found', async () => {
    await server.command(`INSERT INTO ${database}.schema_version (version, name) SELECT 99, 'new'`);
    expect(await found()).toMatchObject([
      { code: 'clickhouse_schema', state: 'failed', detail: expect.stringContaining('got 99') },
    ]);
    await server.command(`DELETE FROM ${database}.schema_version WHERE version = 99`);
    await server.command(`RENAME TABLE ${database}.events TO ${database}.events_local`);
    expect(await found()).toMatchObject([
      {
        code: 'clickhouse_tables',
        detail: expect.stringContaining('expected tables of a single server, got events_local'),
      },
    ]);
    await server.command(`RENAME TABLE ${database}.events_local TO ${database}.events`);
    expect(await found()).toEqual([]);
  });

  it('a clock that differs is found', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    expect(await found()).toMatchObject([
      { code: 'clickhouse_clock', state: 'warning', detail: expect.stringMatching(/(59|60) s behind/) },
    ]);
  });
});
