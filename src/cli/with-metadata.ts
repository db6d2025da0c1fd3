import { existsSync } from 'node:fs';
import type { Settings } from '../server/config/settings.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import type { Dialect } from '../stores/metadata/migrations/migration.ts';
import { firstAdmin, type User } from '../stores/metadata/users.ts';
import { metadataFile, openMetadata } from '../server/service/stores.ts';
import { CommandError } from './exit-codes.ts';

// Takes longer to load than most commands take to run: only commands that need it load it.
const loadMigrate = () => import('../stores/metadata/migrate.ts');

type StoreSettings = Pick<Settings, 'dataDir' | 'databaseUrl'>;

/**
 * Runs `work` on the metadata store itself, as its first admin: with the server stopped, or beside it. Errors: notFound when there is no store
 * yet; SchemaTooNewError.
 */
export async function withMetadata<T>(
  settings: StoreSettings,
  work: (db: Metadata, owner: User) => Promise<T>,
): Promise<T> {
  const { db, dialect } = await open(settings);
  if (db === undefined) throw noStore(settings);
  const { migrate } = await loadMigrate();
  try {
    await migrate(db, dialect);
    const owner = await firstAdmin(db);
    if (owner === undefined) throw noStore(settings);
    return await work(db, owner);
  } finally {
    await db.destroy();
  }
}

/** What the metadata store says about itself, unchanged by the look. */
export interface MetadataFacts {
  /** `path, schema 1 of 1`. */
  readonly summary: string;
  readonly place: string;
  /** Open dead letters of project 0: damaged requests whose project is not known. No key may read them. */
  readonly lettersOfNobody: number;
}

/** Undefined when there is no store yet. Errors: whatever keeps it from being read. */
export async function describeMetadata(settings: StoreSettings): Promise<MetadataFacts | undefined> {
  const { db, dialect, file } = await open(settings);
  if (db === undefined) return undefined;
  const [{ sql }, { schemaVersion }] = await Promise.all([import('kysely'), loadMigrate()]);
  try {
    const query = sql<{ version: number | null }>`select max(version) as version from schema_version`;
    const found = (await query.execute(db)).rows[0]?.version ?? 0;
    const place = dialect === 'sqlite' ? file : 'PostgreSQL';
    if (found > schemaVersion) {
      throw new Error(
        `${place} was written by a newer Millrace (schema ${found}, known ${schemaVersion}); start that one`,
      );
    }
    const lettersOfNobody = found === 0 ? 0 : await countLettersOfNobody(db);
    return { summary: `${place}, schema ${found} of ${schemaVersion}`, place, lettersOfNobody };
  } finally {
    await db.destroy();
  }
}

async function countLettersOfNobody(db: Metadata): Promise<number> {
  const { count } = await db
    .selectFrom('dead_letters')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', 0)
    .where('state', '=', 'open')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Without `db` when there is no store yet. */
async function open(settings: StoreSettings): Promise<{ db?: Metadata; dialect: Dialect; file: string }> {
  const { createLog } = await import('../server/telemetry/log.ts');
  const file = metadataFile(settings.dataDir);
  const isEmbedded = settings.databaseUrl === '';
  if (isEmbedded && !existsSync(file)) return { dialect: 'sqlite', file };
  return { ...(await openMetadata(settings, createLog('warn'))), file };
}

function noStore({ dataDir, databaseUrl }: StoreSettings): CommandError {
  const where = databaseUrl === '' ? `in ${dataDir}` : 'in the database of DATABASE_URL';
  return new CommandError(
    'notFound',
    `no project ${where} yet: run "millrace serve" once, or name the right place with --data-dir or DATABASE_URL`,
  );
}
