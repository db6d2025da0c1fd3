import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { findPostgres, startPostgres, type PostgresServer } from '../../../../test/support/postgres-server.ts';
import { startTransactionPooler } from '../../../../test/support/transaction-pooler.ts';
import { claimDatabase } from '../../../stores/metadata/claim-database.ts';
import type { Metadata } from '../../../stores/metadata/database.ts';
import { migrate, schemaVersion } from '../../../stores/metadata/migrate.ts';
import { openPostgres } from '../../../stores/metadata/postgres.ts';
import { writeReport } from '../../../stores/metadata/service-processes.ts';
import { createSlots } from '../../../stores/metadata/slot-leases.ts';
import { createLog } from '../../telemetry/log.ts';
import { diagnose } from './doctor.fixture.ts';
import { metadataPart } from './metadata-checks.ts';
import { postgresPart } from './postgres-checks.ts';

const binaries = process.env['MILLRACE_TEST_SERVERS'] === undefined ? undefined : findPostgres();
const parts = [postgresPart, metadataPart];
const kafka = { KAFKA_BROKERS: 'kafka:9092', MILLRACE_SLOTS: '8' };

describe.skipIf(binaries === undefined)('checks of PostgreSQL', () => {
  let directory: string;
  let server: PostgresServer;
  let admin: Metadata;
  let db: Metadata;
  const urlOf = (database: string, user = 'postgres'): string => {
    const { href } = Object.assign(new URL(server.url), { pathname: `/${database}`, username: user });
    return href;
  };
  const run = async (statement: string): Promise<void> => void (await sql.raw(statement).execute(admin));
  const found = async (env: Record<string, string> = {}) =>
    (await diagnose({ DATABASE_URL: urlOf('m'), ...env }, parts)).faults();

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'doctor-postgres-'));
    server = await startPostgres(binaries ?? '', directory, { isDurable: true });
    admin = openPostgres(server.url);
    await run('create database m');
    db = openPostgres(urlOf('m'));
    await migrate(db, 'postgres');
    await createSlots(db, 8);
  });
  afterAll(async () => {
    await Promise.all([admin.destroy(), db.destroy()]);
    server.stop();
    await rm(directory, { recursive: true, force: true });
  });
  afterEach(() => vi.useRealTimers());

  it('find nothing on a right server, and change nothing', async () => {
    expect(await found(kafka)).toEqual([]);
    await run('create database "новая ""база"""');
    const empty = await diagnose({ DATABASE_URL: urlOf(encodeURIComponent('новая "база"')), ...kafka }, parts);
    expect(empty.faults()).toEqual([]);
    expect(empty.findings).toContainEqual(expect.objectContaining({ code: 'metadata_schema', state: 'ok' }));
    const other = openPostgres(urlOf(encodeURIComponent('новая "база"')));
    expect(await other.introspection.getTables()).toEqual([]);
    await other.destroy();
  });

  it('a server, database or user that is not there is one fault, without the password', async () => {
    for (const [url, detail] of [
      ['postgres://me:hunter2@127.0.0.1:9/m', /ECONNREFUSED/],
      [urlOf('none'), /database "none" does not exist/],
      [urlOf('m', 'stranger:hunter2').replace('%3A', ':'), /role "stranger" does not exist/],
    ] as const) {
      const { faults, findings } = await diagnose({ DATABASE_URL: url }, parts);
      expect(faults()).toMatchObject([
        { code: 'postgres_reachable', state: 'failed', detail: expect.stringMatching(detail) },
      ]);
      expect(JSON.stringify(findings)).not.toContain('hunter2');
    }
  });

  /** Statements that plant a fault and take it away, with the code and what is said. */
  it.each<[string, string, string, RegExp, RegExp]>([
    [
      'postgres_durability',
      'set synchronous_commit = off',
      'reset synchronous_commit',
      /synchronous_commit is off/,
      /Turn/,
    ],
    [
      'postgres_writable',
      'set default_transaction_read_only = on',
      'reset default_transaction_read_only',
      /read_only is on/,
      /primary/,
    ],
    [
      'postgres_timeouts',
      'set idle_session_timeout = 5000',
      'reset idle_session_timeout',
      /idle_session_timeout is 5000 ms/,
      /ALTER ROLE/,
    ],
    [
      'postgres_timeouts',
      'set statement_timeout = 20000',
      'reset statement_timeout',
      /statement_timeout is 20000 ms/,
      /ALTER ROLE/,
    ],
    [
      'postgres_connections',
      'connection limit 10',
      'connection limit -1',
      /at least 22 connections .*, got 10/,
      /max_connections/,
    ],
  ])('%s is found after: alter database … %s', async (code, plant, undo, detail, advice) => {
    await run(`alter database m ${plant}`);
    try {
      expect(await found(kafka)).toMatchObject([
        { code, detail: expect.stringMatching(detail), advice: expect.stringMatching(advice) },
      ]);
    } finally {
      // The planted setting may forbid it in the database itself.
      await run(`alter database m ${undo}`);
    }
  });

  it('a database in another encoding is found', async () => {
    await run(`create database ascii encoding 'SQL_ASCII' locale 'C' locale_provider libc template template0`);
    const faults = await found({ DATABASE_URL: urlOf('ascii') });
    expect(faults).toMatchObject([
      { code: 'postgres_encoding', state: 'failed', detail: expect.stringContaining('got SQL_ASCII') },
    ]);
  });

  it('a user without rights on the schema and its tables is found', async () => {
    await run('create role reader login');
    const faults = await found({ DATABASE_URL: urlOf('m', 'reader'), ...kafka });
    const rights = faults.filter(({ code }) => code === 'postgres_rights').map(({ detail }) => detail);
    expect(rights).toEqual([
      'the user may not create tables in the schema public',
      expect.stringMatching(/^the user may not read and write activity_log, /),
    ]);
  });

  it('a pooler that shares connections is found, and a direct connection is not taken for one', async () => {
    await using pooler = await startTransactionPooler(urlOf('m'));
    expect(await found({ DATABASE_URL: pooler.url, ...kafka })).toMatchObject([
      { code: 'postgres_pooler', state: 'failed', advice: expect.stringContaining('pool_mode = session') },
    ]);
  });

  it('an old server is found', async () => {
    const values = new Map([
      ['server_version_num', '130018'],
      ['server_version', '13.18'],
    ]);
    const check = postgresPart.checks['postgres_version'];
    expect(await check?.find({ values } as never)).toEqual(['expected 14 or newer, got 13.18']);
  });

  it('a clock that differs is found', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 });
    expect(await found(kafka)).toMatchObject([
      { code: 'postgres_clock', state: 'warning', detail: expect.stringMatching(/PostgreSQL is (59|60) s ahead of/) },
    ]);
  });

  it('another installation on the database is found, of one machine and of a cluster', async () => {
    const log = createLog('silent');
    const alone = await claimDatabase(db, { log, sharing: 'alone' });
    expect(await found(kafka)).toMatchObject([
      { code: 'postgres_claim', detail: expect.stringContaining('not of the cluster') },
    ]);
    await alone.release();
    const together = await claimDatabase(db, { log, sharing: 'together' });
    expect(await found()).toMatchObject([
      { code: 'postgres_claim', detail: expect.stringContaining('1 processes of a cluster') },
    ]);
    expect(await found(kafka)).toEqual([]);
    await together.release();
  });

  it('another number of slots, a newer schema and processes of several versions are found', async () => {
    expect(await found({ ...kafka, MILLRACE_SLOTS: '64' })).toMatchObject([
      { code: 'metadata_slots', state: 'failed', detail: 'expected 64 slots (MILLRACE_SLOTS), got a database with 8' },
    ]);
    for (const [id, version] of [
      ['a', '1.0.0'],
      ['b', '1.1.0'],
    ]) {
      await writeReport(db, id ?? '', JSON.stringify({ name: `host-${id}`, version }));
    }
    expect(await found(kafka)).toMatchObject([
      { code: 'process_versions', state: 'warning', detail: 'processes run versions 1.0.0, 1.1.0' },
    ]);
    await db.deleteFrom('service_processes').execute();
    await sql`insert into schema_version (version, name, applied_at) values (${schemaVersion + 1}, 'new', '')`.execute(
      db,
    );
    expect(await found(kafka)).toMatchObject([{ code: 'metadata_schema', state: 'failed' }]);
    await sql`delete from schema_version where version = ${schemaVersion + 1}`.execute(db);
  });
});
