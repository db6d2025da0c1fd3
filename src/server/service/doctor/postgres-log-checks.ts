import { sql } from 'kysely';
import type { Metadata } from '../../../stores/metadata/database.ts';
import { eventLogOf } from '../../config/event-log-kind.ts';
import { createLog } from '../../telemetry/log.ts';
import { openMetadata } from '../stores.ts';
import { CheckSkippedError, definePart, type Outcome } from './check.ts';

interface PostgresLogSubject extends AsyncDisposable {
  readonly db: Metadata;
  readonly tables: readonly LogTable[];
}

interface LogTable {
  readonly name: string;
  /** `p`: survives a crash of the server; `u`: unlogged. */
  readonly persistence: string;
  /** Whether the table has autovacuum switched off. */
  readonly isKept: boolean;
}

/** What PostgreSQL must be for the event log, in addition to what the metadata need. */
export const postgresLogPart = definePart<PostgresLogSubject>({
  title: 'Event log in PostgreSQL',
  applies: ({ settings }) => eventLogOf(settings) === 'postgres' && settings.databaseUrl !== '',
  open: async ({ settings }) => {
    const { db } = await openMetadata(settings, createLog('silent'), 1);
    try {
      return { db, tables: await readTables(db), [Symbol.asyncDispose]: () => db.destroy() };
    } catch (error) {
      await db.destroy();
      throw error;
    }
  },
  checks: {
    postgres_log_unlogged: {
      checks: 'the tables of the event log survive a crash of the server and exist on standbys (are not unlogged)',
      severity: 'failed',
      advice: 'Run `ALTER TABLE … SET LOGGED` for each table that the message names.',
      find: ({ tables }) =>
        tables.filter(({ persistence }) => persistence !== 'p').map(({ name }) => `${name} is unlogged`),
    },
    postgres_log_vacuum: {
      checks: 'stored records are vacuumed: autovacuum is on, for the server and for the tables of the event log',
      severity: 'failed',
      advice:
        'Set `autovacuum = on` and reset `autovacuum_enabled` of the tables: otherwise the tables grow with every request until the disk is full.',
      find: async ({ db, tables }) => [
        ...((await valueOf(db, 'autovacuum')) === 'off' ? ['autovacuum is off'] : []),
        ...tables.filter(({ isKept }) => isKept).map(({ name }) => `${name} has autovacuum_enabled=false`),
      ],
    },
    postgres_log_standby: {
      checks: 'an acknowledged event is on a synchronous standby, and one is connected',
      severity: 'warning',
      advice:
        'Set `synchronous_standby_names`, and start the standby that it names: without one, a failover loses the last acknowledged events; while none is connected, capture answers 503.',
      find: ({ db }) => findStandby(db),
    },
  },
});

async function readTables(db: Metadata): Promise<readonly LogTable[]> {
  const query = sql<{ name: string; persistence: string; kept: boolean }>`
    select c.relname as name, c.relpersistence as persistence,
      coalesce(c.reloptions, '{}') && array['autovacuum_enabled=false', 'autovacuum_enabled=off'] as kept
    from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
      and c.relname in ('event_log', 'event_log_ends', 'event_log_records') order by 1`;
  const { rows } = await query.execute(db);
  return rows.map(({ name, persistence, kept }) => ({ name, persistence, isKept: kept }));
}

async function valueOf(db: Metadata, name: string): Promise<string> {
  const { rows } = await sql<{ value: string }>`select current_setting(${name}) as value`.execute(db);
  return rows[0]?.value ?? '';
}

async function findStandby(db: Metadata): Promise<Outcome> {
  const names = await valueOf(db, 'synchronous_standby_names');
  if (names === '') return ['synchronous_standby_names is not set'];
  const { rows } = await sql<{ state: string | null }>`select sync_state as state from pg_stat_replication`.execute(db);
  if (rows.some(({ state }) => state === null)) {
    throw new CheckSkippedError('only members of pg_read_all_stats may read the state of standbys');
  }
  const connected = rows.filter(({ state }) => state === 'sync' || state === 'quorum').length;
  if (connected > 0) return `${connected} connected`;
  return [{ detail: `no standby of synchronous_standby_names (${names}) is connected`, severity: 'failed' }];
}
