/** Counts the content of a data directory that is not in use. Opening it proves that a service can. */
import { join } from 'node:path';
import { sql } from 'kysely';
import { BackupDamagedError, type BackupCounts } from '../../stores/backup/manifest.ts';
import type { Settings } from '../config/settings.ts';
import { damageText, findDamage } from '../../stores/events/check-parts.ts';
import { countMonths } from '../../stores/events/month-rows.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { readCursor } from '../../pipeline/cursors.ts';
import type { Log } from '../telemetry/log.ts';
import { openEventStore, openMetadata, startEmbeddedStore, storeFiles } from './stores.ts';

/** A count of all events reads a part of each. */
const queryTimeoutMs = 3_600_000;

/**
 * `eventsIn` is a data directory with the same events, if these must not be touched. @throws BackupDamagedError, errors of the
 * stores
 */
export async function countDataDir(settings: Settings, log: Log, eventsIn = settings.dataDir): Promise<BackupCounts> {
  const { dataDir } = settings;
  const { db } = await openMetadata({ dataDir, databaseUrl: '' }, log);
  try {
    await checkPages(db, dataDir);
    const tables = await countTables(db);
    const [live, historical] = await Promise.all([
      readCursor(db, { slot: 0, lane: 'live' }),
      readCursor(db, { slot: 0, lane: 'historical' }),
    ]);
    const { countWaiting } = await storeFiles();
    const waiting = countWaiting(dataDir, { live: live.seq, historical: historical.seq });
    return { tables, waiting, events: await countEvents({ ...settings, dataDir: eventsIn }, log) };
  } finally {
    await db.destroy();
  }
}

async function checkPages(db: Metadata, dataDir: string): Promise<void> {
  const { rows } = await sql<{ integrity_check: string }>`select * from pragma_integrity_check`.execute(db);
  const [found] = rows;
  if (found?.integrity_check === 'ok') return;
  const got = found?.integrity_check ?? 'no answer';
  throw new BackupDamagedError(`expected metadata.sqlite in ${dataDir} to be intact, got: ${got}; check the disk`);
}

async function countTables(db: Metadata): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master
    where type = 'table' and name not like 'sqlite_%' order by name`.execute(db);
  const counts: Record<string, number> = {};
  for (const { name } of rows) {
    const found = await sql<{ rows: number }>`select count(*) as rows from ${sql.table(name)}`.execute(db);
    counts[name] = Number(found.rows[0]?.rows ?? 0);
  }
  return counts;
}

async function countEvents(settings: Settings, log: Log): Promise<BackupCounts['events']> {
  await using parts = new AsyncDisposableStack();
  const onRestart = (reason: string): void => log.warn({ reason }, 'embedded engine restarted while counting');
  const embedded = await startEmbeddedStore({ ...settings, queryTimeoutMs }, { log, onRestart });
  parts.defer(() => embedded.close());
  const store = await openEventStore(settings, embedded);
  parts.defer(() => store.close());
  const health = await store.health();
  if (!health.ok) throw new BackupDamagedError(`${join(settings.dataDir, 'events')}: ${health.detail}`);
  const damage = damageText(await findDamage(store));
  if (damage !== '') throw new BackupDamagedError(damage);
  const months = await countMonths(store);
  return months.map(({ projectId: project, month, events }) => ({ project, month, events }));
}
