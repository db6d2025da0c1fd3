import { join } from 'node:path';
import { migrate } from '../../stores/metadata/migrate.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getRun } from '../../imports/run/run-store.ts';
import type { Run } from '../../imports/run/run.ts';
import { StagingMissingError, type Staging } from '../../imports/staging.ts';
import { openMetadata, openStaging, takeFileLock } from '../../server/service/stores.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { CommandError } from '../exit-codes.ts';
import type { ImportDir } from './state-dir.ts';

/** Opens the metadata store of an import while `work` runs. Errors: SchemaVersionError. */
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

/** Returns the run of a directory, which has its id. Errors: notFound. */
export async function runIn(dir: ImportDir, db: Metadata): Promise<Run> {
  const run = await getRun(db, dir.id);
  if (run !== undefined) return run;
  throw new CommandError('notFound', `expected a run in ${dir.path}, got none: it was never started`);
}

/** Locks an import for this process. Errors: CommandError failed, when another process holds the lock. */
export function lockImport({ id, path, stateDir }: ImportDir): Disposable {
  const lock = takeFileLock(join(path, 'lock.sqlite'));
  if (lock !== undefined) return lock;
  const run = `--run ${id} --state-dir ${stateDir}`;
  throw new CommandError(
    'failed',
    `another process is working on this import, run ${id}: "millrace import watch ${run}" shows its progress, ` +
      `"millrace import pause ${run}" pauses it`,
  );
}

/** Reads a result of a stage. Errors: notFound, before the end of the stage. */
export async function readText(staging: Staging, key: string, stage: string): Promise<string> {
  try {
    return Buffer.concat(await Array.fromAsync(staging.read(key))).toString('utf8');
  } catch (error) {
    if (!(error instanceof StagingMissingError)) throw error;
    throw new CommandError('notFound', `the run has not completed its stage ${stage}`, { cause: error });
  }
}
