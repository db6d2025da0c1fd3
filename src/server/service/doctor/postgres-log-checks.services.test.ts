/** The event log in PostgreSQL on a primary and a real standby: what doctor finds there, and what a promoted standby has. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noLimits, record, texts } from '../../../../test/conformance/event-log/event-log.ts';
import {
  findPostgres,
  startPostgres,
  startStandby,
  type PostgresServer,
  type StandbyServer,
} from '../../../../test/support/postgres-server.ts';
import { openPostgresLogReaders } from '../../../log/postgres/reader.ts';
import { openPostgresLogWriter } from '../../../log/postgres/writer.ts';
import type { SharedLogWriter } from '../../../log/shared-log.ts';
import type { Metadata } from '../../../stores/metadata/database.ts';
import { openPostgres } from '../../../stores/metadata/postgres.ts';
import { diagnose } from './doctor.fixture.ts';
import { postgresLogPart } from './postgres-log-checks.ts';

const binaries = process.env['MILLRACE_TEST_SERVERS'] === undefined ? undefined : findPostgres();
const noCursors = async () => ({ live: new Map<number, number>(), historical: new Map<number, number>() });

describe.skipIf(binaries === undefined)('the event log in PostgreSQL with a standby', () => {
  const parts = new AsyncDisposableStack();
  let primary: PostgresServer;
  let standby: StandbyServer;
  let db: Metadata;
  let writer: SharedLogWriter;

  beforeAll(async () => {
    const directoryOf = async (name: string): Promise<string> => {
      const directory = await mkdtemp(join(tmpdir(), `log-${name}-`));
      parts.defer(() => rm(directory, { recursive: true, force: true }));
      return directory;
    };
    primary = await startPostgres(binaries ?? '', await directoryOf('primary'), { isDurable: true });
    parts.defer(stopPrimary);
    standby = await startStandby(binaries ?? '', await directoryOf('standby'), primary, 'standby_1');
    parts.defer(() => standby.stop());
    db = openPostgres(primary.url, { onConnectionLost: () => undefined });
    parts.defer(() => db.destroy());
    writer = await openPostgresLogWriter(optionsOf(primary), { cursors: noCursors });
    parts.defer(() => writer.close());
  });
  afterAll(() => parts.disposeAsync());

  let isLost = false;
  const stopPrimary = (): void => {
    if (!isLost) primary.stop();
    isLost = true;
  };
  const optionsOf = ({ url }: PostgresServer) => ({ url, slots: 2, bodyBytesMax: 1_000_000, connectionsMax: 4 });
  const found = async () =>
    (await diagnose({ DATABASE_URL: primary.url, MILLRACE_EVENT_LOG: 'postgres' }, [postgresLogPart])).faults();
  const run = async (statement: string): Promise<void> => void (await sql.raw(statement).execute(db));
  const configure = async (statement: string): Promise<void> => {
    await run(statement);
    await run('select pg_reload_conf()');
  };

  it('unlogged tables, tables that are not vacuumed, and missing standbys are found, each with what to change', async () => {
    expect(await found()).toMatchObject([
      { code: 'postgres_log_standby', state: 'warning', detail: 'synchronous_standby_names is not set' },
    ]);
    await configure("alter system set synchronous_standby_names = 'elsewhere'");
    await expect
      .poll(found)
      .toMatchObject([
        { code: 'postgres_log_standby', state: 'failed', detail: expect.stringContaining('(elsewhere)') },
      ]);
    await configure("alter system set synchronous_standby_names = 'standby_1'");
    await expect.poll(found).toEqual([]);
    await run('alter table event_log_records set unlogged');
    await run('alter table event_log_ends set (autovacuum_enabled = false)');
    await configure('alter system set autovacuum = off');
    await expect.poll(found).toMatchObject([
      { code: 'postgres_log_unlogged', state: 'failed', detail: 'event_log_records is unlogged' },
      { code: 'postgres_log_vacuum', state: 'failed', detail: 'autovacuum is off' },
      { code: 'postgres_log_vacuum', state: 'failed', detail: 'event_log_ends has autovacuum_enabled=false' },
    ]);
    await run('alter table event_log_records set logged');
    await run('alter table event_log_ends reset (autovacuum_enabled)');
    await configure('alter system reset autovacuum');
    await expect.poll(found).toEqual([]);
  });

  it('a standby that is promoted after the loss of the primary has every acknowledged record', async () => {
    const acknowledged: string[] = [];
    const append = async (lane: number): Promise<void> => {
      for (let n = 0; ; n += 1) {
        const name = `"ü" ${lane}/${n}`;
        await writer.append('live', record(name), 0);
        acknowledged.push(name);
      }
    };
    const appending = Promise.allSettled([0, 1, 2, 3, 4, 5, 6, 7].map(append));
    await expect.poll(() => acknowledged.length).toBeGreaterThan(200);
    // The standby receives nothing more, so nothing more may be acknowledged.
    const copy = openPostgres(standby.url);
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_wal_receiver`.execute(copy);
    await copy.destroy();
    const receiver = rows[0]?.pid ?? 0;
    process.kill(receiver, 'SIGSTOP');
    const waiting = async (): Promise<number> => {
      const query = sql<{ count: number }>`select count(*) from pg_stat_activity where wait_event = 'SyncRep'`;
      return Number((await query.execute(db)).rows[0]?.count);
    };
    await expect.poll(waiting).toBeGreaterThan(0);
    // The machine of the primary is lost: nothing of it is used again.
    stopPrimary();
    await appending;
    process.kill(receiver, 'SIGCONT');
    standby.promote();
    const readers = await openPostgresLogReaders(optionsOf(standby), {});
    const there = new Set(texts(await readers.reader(0).read('live', 0, noLimits)));
    expect(acknowledged.filter((name) => !there.has(name))).toEqual([]);
    // It accepts what comes next.
    const next = await openPostgresLogWriter(optionsOf(standby), { cursors: noCursors });
    await next.append('live', record('after'), 0);
    await next.close();
    await readers.close();
  });
});
