import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import type { RecordChunk, Source, SourceContext, SourceHost, SourcePart } from '../source.ts';
import { databaseExample, placeFields, placeOf, type DatabaseKind } from './database-place.ts';
import { checksumOf, columnsOf, listRowParts, selectOf } from './mysql-parts.ts';
import { createRowWriter } from './mysql-rows.ts';
import { openSession, type MysqlSession } from './mysql-session.ts';
import { createSnapshotSource } from './snapshots.ts';
import { cursorField, mappingHint, partSizeField, queryField, splitQueryOf, type SplitQuery } from './sql-query.ts';

const kind: DatabaseKind = { name: 'MySQL or MariaDB', port: 3306, schemes: ['mysql', 'mariadb'] };

/** Rows of a table or a query. */
export const mysql = defineImportSource({
  slug: 'mysql',
  name: 'MySQL and MariaDB',
  description:
    'Imports the rows of a table or a query as of the beginning of the import, in one read-only transaction. ' +
    mappingHint,
  fields: [
    ...placeFields(kind),
    queryField(
      'A table, or a select whose rows are the records: select id, name, user_id, created_at, data from events.',
    ),
    cursorField('Column that splits and orders the rows: a time or a whole number, with an index. Values may repeat.'),
    partSizeField,
  ],
  formats: [],
  range: 'Value of the cursor column, which must then be a time (DATETIME as UTC); rows without a value are skipped.',
  example: databaseExample,
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const place = placeOf(settings, kind);
  const source = splitQueryOf(settings);
  return createSnapshotSource({
    open: (signal) => openSession(place, host.resolve, signal),
    listParts: (session, range) => listRowParts(session, source, range),
    read: (session, part, context) => readRows(session, source, part, context),
    checksum: async (session, part) => {
      const { rows } = await session.query(checksumOf(source, await columnsOf(session, source), part));
      return (rows[0] ?? []).map((value) => value?.toString('latin1'));
    },
  });
}

async function* readRows(
  session: MysqlSession,
  source: SplitQuery,
  part: SourcePart,
  { signal }: SourceContext,
): AsyncGenerator<RecordChunk> {
  const columns = await columnsOf(session, source);
  const write = createRowWriter(columns);
  let bytesRead = 0;
  for await (const { rows, bytes } of session.read(selectOf(source, columns, part))) {
    signal.throwIfAborted();
    if (rows.length === 0) continue;
    bytesRead += bytes;
    yield { lines: Buffer.from(rows.map(write).join('')), count: rows.length, bytesRead };
  }
}
