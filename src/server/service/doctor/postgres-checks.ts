import { sql } from 'kysely';
import type { Metadata } from '../../../stores/metadata/database.ts';
import { databaseClaims } from '../../../stores/metadata/claim-database.ts';
import { readDatabaseTime } from '../../../stores/metadata/database-clock.ts';
import { listReports } from '../../../stores/metadata/service-processes.ts';
import type { Settings } from '../../config/settings.ts';
import { createLog } from '../../telemetry/log.ts';
import { isCluster } from '../../config/event-log-kind.ts';
import { openMetadata } from '../stores.ts';
import { clockFaults } from './clock-faults.ts';
import { CheckSkippedError, definePart, once, type Outcome } from './check.ts';

interface PostgresSubject extends AsyncDisposable {
  readonly db: Metadata;
  readonly settings: Settings;
  /** Values of the server's settings for this user and database. */
  readonly values: ReadonlyMap<string, string>;
  /** Whether the tables exist. */
  readonly hasTables: boolean;
  readonly processes: () => Promise<readonly Reported[]>;
}

/** Of the report of a live process. */
interface Reported {
  readonly name: string;
  readonly version: string;
}

const oldestVersionNumber = 140_000;
/** Beside its pool: the leases of a pipeline. */
const connectionsBeside = 2;
const silentMsMax = 60_000;
/** Connections that are idle for some seconds keep the claim and locks. */
const idleMsMin = 30_000;
const statementMsMin = 60_000;

export const postgresPart = definePart<PostgresSubject>({
  title: 'PostgreSQL',
  opened: 'postgres_reachable',
  applies: ({ settings }) => settings.databaseUrl !== '',
  open: async ({ settings }) => {
    const { db } = await openMetadata(settings, createLog('silent'), 2);
    try {
      const values = await readValues(db);
      const hasTables = await existsTable(db, 'schema_version');
      const processes = once(() => readProcesses(db, hasTables));
      return { db, settings, values, hasTables, processes, [Symbol.asyncDispose]: () => db.destroy() };
    } catch (error) {
      await db.destroy();
      throw error;
    }
  },
  checks: {
    postgres_reachable: {
      checks: 'the server of `DATABASE_URL` accepts the user, and has the database',
      severity: 'failed',
      advice:
        'Correct `DATABASE_URL`, start the server, create the database or the user, or permit the address in pg_hba.conf.',
      find: ({ values }) => `PostgreSQL ${values.get('server_version')}`,
    },
    postgres_version: {
      checks: 'the server is PostgreSQL 14 or newer',
      severity: 'failed',
      advice: 'Upgrade the server.',
      find: ({ values }) =>
        Number(values.get('server_version_num')) >= oldestVersionNumber
          ? []
          : [`expected 14 or newer, got ${values.get('server_version')}`],
    },
    postgres_encoding: {
      checks: 'the database is encoded in UTF-8',
      severity: 'failed',
      advice: "Create the database with `ENCODING 'UTF8'`.",
      find: ({ values }) =>
        values.get('server_encoding') === 'UTF8'
          ? []
          : [`expected UTF8, got ${values.get('server_encoding')}: names in other scripts cannot be stored`],
    },
    postgres_writable: {
      checks: 'the server is a primary that accepts writes',
      severity: 'failed',
      advice:
        'Point `DATABASE_URL` to the primary; reset `default_transaction_read_only` of the user and the database.',
      find: findReadOnly,
    },
    postgres_rights: {
      checks: 'the user may create tables in its schema, and read and write those that exist',
      severity: 'failed',
      advice: 'Grant `USAGE, CREATE` on the schema, and make the user the owner of the tables (`REASSIGN OWNED`).',
      find: findMissingRights,
    },
    postgres_durability: {
      checks:
        'a committed transaction survives a crash of the server (`synchronous_commit`, `fsync`, `full_page_writes`)',
      severity: 'failed',
      advice:
        'Turn these settings on, for the server, the database and the user: cursors that are lost after their events were stored have them stored again.',
      find: ({ values }) =>
        ['synchronous_commit', 'fsync', 'full_page_writes']
          .filter((name) => values.get(name) === 'off')
          .map((name) => `${name} is off`),
    },
    postgres_pooler: {
      checks:
        'no pooler gives one server connection to several clients (PgBouncer with `pool_mode` transaction or statement)',
      severity: 'failed',
      advice:
        'Set `pool_mode = session` for this database, or connect to the server directly: locks of a connection keep other installations out.',
      find: ({ db }) => findSharedConnection(db),
    },
    postgres_timeouts: {
      checks: 'the server ends neither idle connections within 30 s nor statements within 60 s',
      severity: 'warning',
      advice:
        'Set `idle_session_timeout`, `idle_in_transaction_session_timeout` and `statement_timeout` to 0 for the user: `ALTER ROLE … SET … = 0`.',
      find: ({ values }) => [
        ...shortTimeouts(values, ['idle_session_timeout', 'idle_in_transaction_session_timeout'], idleMsMin),
        ...shortTimeouts(values, ['statement_timeout'], statementMsMin),
      ],
    },
    postgres_connections: {
      checks: 'the server has enough connections for all running processes, at least one',
      severity: 'failed',
      advice:
        'Raise `max_connections` (or the limit of the user or database), or lower `MILLRACE_DATABASE_CONNECTIONS`; see "Sizing" in docs/guides/scale-out.md.',
      find: findFewConnections,
    },
    postgres_clock: {
      checks: 'the clocks of this machine and of the server differ by less than 5 s',
      severity: 'warning',
      advice: 'Synchronise both clocks (NTP): events without a time get the time of the machine that accepts them.',
      find: async ({ db }) => await clockFaults('PostgreSQL', () => readDatabaseTime(db)),
    },
    postgres_claim: {
      checks: 'no other installation uses the database: one process alone, or the processes of one cluster',
      severity: 'failed',
      advice:
        'Stop the other one, or give this one its own `DATABASE_URL`; a process without `KAFKA_BROKERS` or `MILLRACE_EVENT_LOG=postgres` cannot share the database of a cluster.',
      find: findOtherClaim,
    },
    metadata_slots: {
      checks: 'the database was created for `MILLRACE_SLOTS` slots',
      severity: 'failed',
      advice: 'Set `MILLRACE_SLOTS` of every process to the number that the cluster was created with.',
      find: findOtherSlots,
    },
    process_versions: {
      checks: 'all running processes have the same version',
      severity: 'warning',
      advice: 'Finish the upgrade: replace the processes of the older version.',
      find: async ({ processes }) => {
        const found = await processes();
        const versions = [...new Set(found.map(({ version }) => version))].toSorted();
        if (versions.length > 1) return [`processes run versions ${versions.join(', ')}`];
        return found.length === 0 ? 'no process has reported within a minute' : `${found.length} at ${versions[0]}`;
      },
    },
  },
});

async function readValues(db: Metadata): Promise<ReadonlyMap<string, string>> {
  const query = sql<{ name: string; value: string }>`select name, coalesce(setting, '') as value from pg_settings`;
  return new Map((await query.execute(db)).rows.map(({ name, value }) => [name, value]));
}

async function existsTable(db: Metadata, name: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select to_regclass(${name}) is not null as found`.execute(db);
  return rows[0]?.found === true;
}

async function readProcesses(db: Metadata, hasTables: boolean): Promise<readonly Reported[]> {
  if (!hasTables) return [];
  const reports = (await listReports(db)).filter(({ seenMsAgo }) => seenMsAgo <= silentMsMax);
  return reports.map(({ report }) => JSON.parse(report) as Reported);
}

async function findReadOnly({ db, values }: PostgresSubject): Promise<Outcome> {
  const { rows } = await sql<{ standby: boolean }>`select pg_is_in_recovery() as standby`.execute(db);
  if (rows[0]?.standby === true) return ['the server is a standby, which is read-only'];
  return values.get('default_transaction_read_only') === 'on' ? ['default_transaction_read_only is on'] : [];
}

async function findMissingRights({ db }: PostgresSubject): Promise<Outcome> {
  const { rows } = await sql<{ schema: string | null; creates: boolean | null }>`
    select current_schema() as schema, has_schema_privilege(current_schema(), 'CREATE') as creates`.execute(db);
  const schema = rows[0]?.schema ?? null;
  if (schema === null) return ['the search_path of the user has no schema that exists'];
  const tables = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind = 'r' and not (has_table_privilege(c.oid, 'SELECT')
      and has_table_privilege(c.oid, 'INSERT') and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE'))
    order by 1 limit 5`.execute(db);
  return [
    ...(rows[0]?.creates === true ? [] : [`the user may not create tables in the schema ${schema}`]),
    ...(tables.rows.length === 0
      ? []
      : [`the user may not read and write ${tables.rows.map(({ name }) => name).join(', ')}`]),
  ];
}

/** A pooler that shares connections gives the one that a first client has just used to a second one. */
async function findSharedConnection(db: Metadata): Promise<Outcome> {
  const pidOf = async (each: Metadata): Promise<number | undefined> =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(each)).rows[0]?.pid;
  return await db.connection().execute(async (one) => {
    const before = await pidOf(one as Metadata);
    const other = await db.connection().execute(async (two) => await pidOf(two as Metadata));
    const after = await pidOf(one as Metadata);
    return before === other || before !== after ? ['two client connections got the same server process in turn'] : [];
  });
}

/** In ms; 0 means no limit. */
function shortTimeouts(values: ReadonlyMap<string, string>, names: readonly string[], msMin: number): string[] {
  const found = names.map((name) => ({ name, ms: Number(values.get(name) ?? 0) }));
  return found.filter(({ ms }) => ms > 0 && ms < msMin).map(({ name, ms }) => `${name} is ${ms} ms`);
}

async function findFewConnections({ db, settings, values, processes }: PostgresSubject): Promise<Outcome> {
  const { rows } = await sql<{ of_user: number; of_database: number }>`
    select (select rolconnlimit from pg_roles where rolname = current_user) as of_user,
      (select datconnlimit from pg_database where datname = current_database()) as of_database`.execute(db);
  const reserved =
    Number(values.get('superuser_reserved_connections')) + Number(values.get('reserved_connections') ?? 0);
  const limits = [Number(values.get('max_connections')) - reserved, rows[0]?.of_user ?? -1, rows[0]?.of_database ?? -1];
  const available = Math.min(...limits.filter((limit) => limit >= 0));
  const running = Math.max(1, (await processes()).length);
  const needed = running * (settings.databaseConnections + connectionsBeside);
  const each = `${running} × (${settings.databaseConnections} + ${connectionsBeside})`;
  if (available >= needed) return `${available} available, ${needed} used at most (${each})`;
  return [`expected at least ${needed} connections (${each}), got ${available}`];
}

async function findOtherClaim({ db, settings }: PostgresSubject): Promise<Outcome> {
  const { alone, together } = await databaseClaims(db);
  if (isCluster(settings)) return alone > 0 ? ['a process that is not of the cluster uses the database'] : [];
  return together > 0 ? [`${together} processes of a cluster use the database`] : [];
}

async function findOtherSlots({ db, settings, hasTables }: PostgresSubject): Promise<Outcome> {
  if (!isCluster(settings)) throw new CheckSkippedError('not a cluster');
  if (!hasTables) return 'no tables yet; the first process creates them';
  const rows = await db.selectFrom('slots').select('slot').execute();
  // The one of an empty database, before the first process of a cluster has started.
  if (rows.length === settings.slots || rows.length === 1) return [];
  return [`expected ${settings.slots} slots (MILLRACE_SLOTS), got a database with ${rows.length}`];
}
