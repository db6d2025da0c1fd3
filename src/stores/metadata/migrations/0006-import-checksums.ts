import type { Queries } from '../queries.ts';
import type { ColumnTypes, Migration } from './migration.ts';

/** A checksum of what was read of each part of an import: a file that was only touched is not read again. */
export const importChecksums: Migration = {
  version: 6,
  name: 'import checksums',
  up: addChecksums,
};

async function addChecksums({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema.alterTable('import_parts').addColumn('checksum', text).execute();
}
