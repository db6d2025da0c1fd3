import { sql } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import type { Metadata } from './database.ts';
import { init } from './migrations/0001-init.ts';
import { plugins } from './migrations/0002-plugins.ts';
import { imports } from './migrations/0003-imports.ts';
import { importLeftovers } from './migrations/0004-import-leftovers.ts';
import { errorSources } from './migrations/0005-error-sources.ts';
import { importChecksums } from './migrations/0006-import-checksums.ts';
import { profileRebuilds } from './migrations/0007-profile-rebuilds.ts';
import { deadLetterReplays } from './migrations/0008-dead-letter-replays.ts';
import { roles } from './migrations/0009-roles.ts';
import { activityByTime } from './migrations/0010-activity-by-time.ts';
import { sampleEvents } from './migrations/0011-sample-events.ts';
import { slots } from './migrations/0012-slots.ts';
import { sharedImports } from './migrations/0013-shared-imports.ts';
import { processes } from './migrations/0014-processes.ts';
import { slotLogs } from './migrations/0015-slot-logs.ts';
import { spreadProjects } from './migrations/0016-spread-projects.ts';
import { notices } from './migrations/0017-notices.ts';
import { importSchedules } from './migrations/0018-import-schedules.ts';
import { importLoads } from './migrations/0019-import-loads.ts';
import { firstIds } from './migrations/0020-first-ids.ts';
import { groupedRegisters } from './migrations/0021-grouped-registers.ts';
import { runDeaths } from './migrations/0022-run-deaths.ts';
import { storedRows } from './migrations/0023-stored-rows.ts';
import { columnTypes, type Dialect, type Migration } from './migrations/migration.ts';
import type { Queries } from './queries.ts';

/** In order of version, without gaps. */
const migrations: readonly Migration[] = [
  init,
  plugins,
  imports,
  importLeftovers,
  errorSources,
  importChecksums,
  profileRebuilds,
  deadLetterReplays,
  roles,
  activityByTime,
  sampleEvents,
  slots,
  sharedImports,
  processes,
  slotLogs,
  spreadProjects,
  notices,
  importSchedules,
  importLoads,
  firstIds,
  groupedRegisters,
  runDeaths,
  storedRows,
];

/** The schema version that this program needs. */
export const schemaVersion = migrations.length;

/** Any constant works, as long as nothing else in the same database takes it as an advisory lock. */
const advisoryLockKey = 778_120_531;

/** The store was made by a newer program; running on would damage it. */
export class SchemaTooNewError extends Error {
  override name = 'SchemaTooNewError';
  readonly found: number;
  readonly known: number;

  constructor(found: number, known: number) {
    super(
      `expected a metadata schema of version ${known} or older, got version ${found}: the store was written by a ` +
        'newer Millrace; start that version or a later one, or restore the backup made before the upgrade',
    );
    this.found = found;
    this.known = known;
  }
}

/**
 * Brings the store to this program's schema version. Each migration is one transaction; processes that start at once
 * wait for each other. Errors: SchemaTooNewError.
 */
export async function migrate(db: Metadata, dialect: Dialect): Promise<void> {
  for (const migration of migrations) {
    await db.transaction().execute(async (tx) => {
      const version = await lockVersion(tx, dialect);
      if (version > schemaVersion) throw new SchemaTooNewError(version, schemaVersion);
      if (version >= migration.version) return;
      await migration.up(tx, columnTypes[dialect]);
      await sql`insert into schema_version (version, name, applied_at)
        values (${migration.version}, ${migration.name}, ${isoMicros(Date.now())})`.execute(tx);
    });
  }
}

/** The schema version of the store, 0 when it is empty; no other process migrates until the transaction ends. */
async function lockVersion(tx: Queries, dialect: Dialect): Promise<number> {
  // SQLite's transactions hold the write lock from their start.
  if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(${advisoryLockKey})`.execute(tx);
  await sql`create table if not exists schema_version (
    version integer primary key, name text not null, applied_at text not null)`.execute(tx);
  const found = await sql<{ version: number | null }>`select max(version) as version from schema_version`.execute(tx);
  return found.rows[0]?.version ?? 0;
}
