import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap } from '../../src/stores/metadata/bootstrap.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { migrate } from '../../src/stores/metadata/migrate.ts';
import { openMetadata } from '../../src/server/service/stores.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { runCommand, type Finished } from './command.ts';

export interface CommandStore extends AsyncDisposable {
  readonly db: Metadata;
  readonly dataDir: string;
  /** Runs a command on the data directory, while this has it open, too. */
  run(...args: string[]): Promise<Finished>;
  /** With these variables in the environment, too. */
  runWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<Finished>;
}

/** A data directory with a metadata store as after the first start, for commands that work on it without a service. */
export async function openCommandStore(): Promise<CommandStore> {
  const dataDir = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  const { db } = await openMetadata({ dataDir, databaseUrl: '' }, createLog('silent'));
  await migrate(db, 'sqlite');
  await bootstrap(db, { now: Date.now() });
  const runWith: CommandStore['runWith'] = (env, ...args) =>
    runCommand(args, { env: { MILLRACE_DATA_DIR: dataDir, ...env } });
  return {
    db,
    dataDir,
    run: (...args) => runWith({}, ...args),
    runWith,
    [Symbol.asyncDispose]: async () => {
      await db.destroy();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
