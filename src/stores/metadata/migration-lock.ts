import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Log } from '../../server/telemetry/log.ts';
import type { Dialect, Metadata } from './database.ts';

/** Any constant works that nothing else in the database uses as an advisory lock. */
const lockKey = sql`778120533, hashtext(current_schema())`;
const retryMs = 200;

export interface MigrationLockDeps {
  readonly db: Metadata;
  readonly dialect: Dialect;
  readonly log: Pick<Log, 'info'>;
}

/**
 * Migrates stores while no other process does: the others wait, which they log, and find the stores migrated. The lock belongs to a
 * dedicated connection, so it ends with its process. PostgreSQL only; a file has one process.
 */
export async function withMigrationLock<T>(
  { db, dialect, log }: MigrationLockDeps,
  work: () => Promise<T>,
): Promise<T> {
  if (dialect === 'sqlite') return work();
  return db.connection().execute(async (connection) => {
    for (let tries = 0; ; tries += 1) {
      const taking = sql<{ taken: boolean }>`select pg_try_advisory_lock(${lockKey}) as taken`.execute(connection);
      if ((await taking).rows[0]?.taken === true) break;
      if (tries === 0) log.info('waiting for another process to migrate the stores');
      await setTimeout(retryMs);
    }
    try {
      return await work();
    } finally {
      await sql`select pg_advisory_unlock(${lockKey})`.execute(connection);
    }
  });
}
