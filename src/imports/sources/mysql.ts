import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import { integerSetting, neededSetting } from '../../plugins/setting-values.ts';
import type { RecordChunk, Source, SourceContext, SourceHost, SourcePart } from '../source.ts';
import { placeFields, placeOf, type DatabaseKind } from './database-place.ts';
import { checksumOf, columnsOf, listRowParts, selectOf, type MysqlQuery } from './mysql-parts.ts';
import { createRowWriter } from './mysql-rows.ts';
import { openSession, type MysqlSession } from './mysql-session.ts';
import { createSnapshots, type Snapshots } from './snapshots.ts';

const kind: DatabaseKind = { name: 'MySQL or MariaDB', port: 3306, schemes: ['mysql', 'mariadb'] };

/** Rows of a table or a query. */
export const mysql = defineImportSource({
  slug: 'mysql',
  name: 'MySQL and MariaDB',
  description:
    'Imports the rows of a table or a query as of the beginning of the import, in one read-only transaction. ' +
    'Choose the format mapping to define which column is the event, the person and the time.',
  fields: [
    ...placeFields(kind),
    {
      key: 'query',
      name: 'Table or query',
      type: 'text',
      required: true,
      hint: 'A table, or a select whose rows are the records: select id, name, user_id, created_at, data from events.',
    },
    {
      key: 'cursor_column',
      name: 'Cursor column',
      type: 'string',
      required: true,
      hint: 'Column that splits and orders the rows: a time or a whole number, with an index. Values may repeat.',
    },
    {
      key: 'part_size',
      name: 'Size of a part',
      type: 'number',
      integer: true,
      minimum: 1,
      default: '1000000',
      hint: 'Only for a whole-number cursor: number of values in one part. Times are split by day.',
    },
  ],
  formats: [],
  range: 'Value of the cursor column, which must then be a time (DATETIME as UTC); rows without a value are skipped.',
  example: {
    host: 'db.example.com',
    database: 'shop',
    user: 'reader',
    password: 'secret',
    query: 'select id, name, user_id, created_at, data from events',
    cursor_column: 'created_at',
  },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const place = placeOf(settings, kind);
  const query = neededSetting(settings, 'query').replace(/[;\s]+$/, '');
  const source: MysqlQuery = {
    query: /\s/.test(query) ? query : `select * from ${query}`,
    cursorColumn: neededSetting(settings, 'cursor_column'),
    partSize: integerSetting(settings, 'part_size', { standard: 1_000_000, min: 1, max: Number.MAX_SAFE_INTEGER }),
  };
  const snapshots = createSnapshots((signal) => openSession(place, host.resolve, signal));
  return {
    concurrency: 1,
    listParts: async (range, context) => {
      await using session = await snapshots.session(context);
      const parts = await listRowParts(session, source, range);
      return parts.map((part) => Object.assign(part, { identity: session.snapshot, isSnapshot: true }));
    },
    open: (part, context) => rowChunks(snapshots, source, part, context),
    checksumNow: async (part, context) => {
      await using session = await snapshots.session(context);
      return await checksumIn(session, source, part);
    },
    release: () => snapshots.release(),
  };
}

async function* rowChunks(
  snapshots: Snapshots<MysqlSession>,
  source: MysqlQuery,
  part: SourcePart,
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  await using session = await snapshots.session(context);
  const columns = await columnsOf(session, source);
  const write = createRowWriter(columns);
  let bytesRead = 0;
  for await (const { rows, bytes } of session.read(selectOf(source, columns, part))) {
    context.signal.throwIfAborted();
    if (rows.length === 0) continue;
    bytesRead += bytes;
    yield { lines: Buffer.from(rows.map(write).join('')), count: rows.length, bytesRead };
  }
  if (context.holdsSnapshot !== true) return;
  context.wasRead?.({ identity: session.snapshot, checksum: await checksumIn(session, source, part) });
}

async function checksumIn(session: MysqlSession, source: MysqlQuery, part: SourcePart): Promise<string> {
  const { rows } = await session.query(checksumOf(source, await columnsOf(session, source), part));
  const [count, sum] = (rows[0] ?? []).map((value) => value?.toString('latin1'));
  return `${count ?? ''} rows, sum ${sum ?? ''}`;
}
