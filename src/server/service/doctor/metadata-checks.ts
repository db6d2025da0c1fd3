import { existsSync } from 'node:fs';
import type { Metadata } from '../../../stores/metadata/database.ts';
import { describeSchema, SchemaVersionError } from '../../../stores/metadata/migrate.ts';
import { createLog } from '../../telemetry/log.ts';
import { metadataFile, openMetadata } from '../stores.ts';
import { CheckSkippedError, definePart, type DoctorContext } from './check.ts';

interface MetadataSubject extends AsyncDisposable {
  /** `undefined` if the store does not exist yet. */
  readonly db: Metadata | undefined;
  readonly place: string;
  /** `undefined` if there are no tables. @throws SchemaVersionError */
  readonly schema: string | undefined;
}

export const metadataPart = definePart<MetadataSubject>({
  title: 'Metadata',
  opened: 'metadata_schema',
  open: openSubject,
  checks: {
    metadata_schema: {
      checks: 'the schema of the metadata is one that this version supports',
      severity: 'failed',
      advice: 'Start the version that wrote it or a later one, or restore the backup made before the upgrade.',
      find: ({ place, schema }) => `${place}, ${schema ?? 'no tables yet; the first start creates them'}`,
    },
    damaged_requests: {
      checks: 'no request was set aside because its bytes were damaged in the log',
      severity: 'warning',
      advice: 'See "Damaged requests" in docs/guides/operations.md.',
      find: async ({ db, place, schema }) => {
        if (db === undefined || schema === undefined) throw new CheckSkippedError('no tables yet');
        const count = await countLettersWithoutProject(db);
        if (count === 0) return 'none set aside';
        return [`${count} set aside without a project: table dead_letters of ${place}, project_id 0`];
      },
    },
  },
});

async function openSubject({ settings: { dataDir, databaseUrl } }: DoctorContext): Promise<MetadataSubject> {
  const file = metadataFile(dataDir);
  const place = databaseUrl === '' ? file : 'PostgreSQL';
  if (databaseUrl === '' && !existsSync(file)) {
    return { db: undefined, place, schema: undefined, [Symbol.asyncDispose]: async () => {} };
  }
  const { db } = await openMetadata({ dataDir, databaseUrl }, createLog('silent'), 1);
  try {
    return { db, place, schema: await describeSchema(db), [Symbol.asyncDispose]: () => db.destroy() };
  } catch (error) {
    await db.destroy();
    // The checks of PostgreSQL report what is wrong with the server.
    if (databaseUrl !== '' && !(error instanceof SchemaVersionError)) {
      throw new CheckSkippedError('PostgreSQL could not be opened');
    }
    throw error;
  }
}

/** Damaged requests have no known project, so no key may read them. */
async function countLettersWithoutProject(db: Metadata): Promise<number> {
  const { count } = await db
    .selectFrom('dead_letters')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('project_id', '=', 0)
    .where('state', '=', 'open')
    .executeTakeFirstOrThrow();
  return Number(count);
}
