import { join } from 'node:path';
import { migrate } from '../../stores/metadata/migrate.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getRun } from '../../imports/run/run-store.ts';
import type { Run } from '../../imports/run/run.ts';
import type { Staging } from '../../imports/staging.ts';
import { openMetadata, openStaging, takeFileLock } from '../../server/service/stores.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { CommandError } from '../exit-codes.ts';
import type { ImportDir } from './state-dir.ts';

/** Opens the metadata store of an import's directory for as long as `work` takes. Errors: SchemaVersionError. */
export async function withStore<T>({ dataDir }: ImportDir, work: (db: Metadata) => Promise<T>): Promise<T> {
  const { db, dialect } = await openMetadata({ dataDir, databaseUrl: '' }, createLog('error'));
  try {
    await migrate(db, dialect);
    return await work(db);
  } finally {
    await db.destroy();
  }
}

export function openLocalStaging({ staging }: Pick<ImportDir, 'staging'>): Promise<Staging> {
  return openStaging(staging);
}

/** The directory's one run, which has its id. Errors: notFound. */
export async function runIn(dir: ImportDir, db: Metadata): Promise<Run> {
  const run = await getRun(db, dir.id);
  if (run !== undefined) return run;
  throw new CommandError('notFound', `expected a run in ${dir.path}, got none: it was never begun`);
}

/** Held by the one process that works on an import. Errors: CommandError failed, when another one holds it. */
export function lockImport({ id, path, stateDir }: ImportDir): Disposable {
  const lock = takeFileLock(join(path, 'lock.sqlite'));
  if (lock !== undefined) return lock;
  const run = `--run ${id} --state-dir ${stateDir}`;
  throw new CommandError(
    'failed',
    `another process is at work on this import, run ${id}: "millrace import watch ${run}" shows how far it is, ` +
      `"millrace import pause ${run}" pauses it`,
  );
}
