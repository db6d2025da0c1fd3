import { randomUUID } from 'node:crypto';
import {
  SourceChangedError,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
} from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource } from '../../plugins/plugin.ts';
import { integerSetting, yesSetting } from '../../plugins/setting-values.ts';
import { databaseExample, placeFields, placeOf, type DatabaseKind } from './database-place.ts';
import { checksumOf, listRowParts, selectOf, type PostgresQuery } from './postgres-parts.ts';
import { createRowWriter } from './postgres-rows.ts';
import { openSession, type PostgresSession } from './postgres-session.ts';
import { createSnapshotSource } from './snapshots.ts';
import { cursorField, mappingHint, partSizeField, queryField, splitQueryOf } from './sql-query.ts';

const firstFetch = 100;
const fetchBytes = 4 * 1024 * 1024;
const kind: DatabaseKind = { name: 'PostgreSQL', port: 5432, schemes: ['postgres', 'postgresql'] };

/** Rows of a table or a query. */
export const postgres = defineImportSource({
  slug: 'postgres',
  name: 'PostgreSQL',
  description:
    'Imports the rows of a table or a query as of the beginning of the import, in one read-only transaction. ' +
    mappingHint,
  fields: [
    ...placeFields(kind),
    queryField(
      'A table, or a select whose rows are the records: select id, name, user_id, created_at, data from events.',
    ),
    cursorField('Column of the query that splits and orders the rows: a time or a number, with an index.'),
    {
      key: 'unique_cursor',
      name: 'Cursor is unique',
      type: 'choice',
      choices: ['No', 'Yes'],
      default: 'No',
      hint: 'Yes: values are unique; an interrupted part then resumes where it stopped, if nothing was written in the meantime.',
    },
    partSizeField,
    {
      key: 'batch_size',
      name: 'Rows at once',
      type: 'number',
      integer: true,
      minimum: 1,
      maximum: 100_000,
      default: '5000',
      hint: 'Maximum number of rows per fetch, 1 to 100000; fewer if rows are large.',
    },
  ],
  formats: [],
  range: 'Value of the cursor column, which must then be a time; rows without a value are skipped.',
  example: databaseExample,
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const place = placeOf(settings, kind);
  const source: PostgresQuery = { ...splitQueryOf(settings), stable: yesSetting(settings, 'unique_cursor') };
  const fetchMax = integerSetting(settings, 'batch_size', { standard: 5000, min: 1, max: 100_000 });
  return createSnapshotSource({
    open: (signal) => openSession(place, host.resolve, signal),
    listParts: (session, range) => listRowParts(session, source, range),
    read: (session, part, context) => readRows(session, { source, fetchMax, part }, context),
    checksum: async (session, part) =>
      (await session.query(checksumOf(source, part))).rows[0]?.map((value) => value ?? undefined) ?? [],
  });
}

interface Reading {
  readonly source: PostgresQuery;
  readonly fetchMax: number;
  readonly part: SourcePart;
}

async function* readRows(
  session: PostgresSession,
  { source, fetchMax, part }: Reading,
  { holdsSnapshot, signal }: SourceContext,
): AsyncGenerator<RecordChunk> {
  const select = selectOf(source, part);
  if (holdsSnapshot === true && part.stable && part.identity !== session.snapshot) {
    throw new SourceChangedError(
      `the connection broke while ${part.key} was read, and the database was modified in the meantime`,
    );
  }
  // A trial stops early and leaves its cursor behind.
  const cursor = `part_${randomUUID().replaceAll('-', '')}`;
  await session.query(`declare ${cursor} no scroll cursor for ${select}`);
  yield* fetchRows(session, cursor, fetchMax, signal);
  await session.query(`close ${cursor}`);
}

async function* fetchRows(
  session: PostgresSession,
  cursor: string,
  fetchMax: number,
  signal: AbortSignal,
): AsyncGenerator<RecordChunk> {
  let bytesRead = 0;
  for (let count = Math.min(firstFetch, fetchMax); ;) {
    signal.throwIfAborted();
    const { columns, rows } = await session.query(`fetch forward ${count} from ${cursor}`);
    if (rows.length === 0) return;
    const write = createRowWriter(columns, session.lists);
    const lines = Buffer.from(rows.map(write).join(''));
    bytesRead += lines.length;
    yield { lines, count: rows.length, bytesRead };
    // Approaches a few MB per fetch by the size of previous rows, at most doubling each time.
    const fitting = Math.floor((fetchBytes * rows.length) / lines.length);
    count = Math.max(1, Math.min(fetchMax, count * 2, fitting));
  }
}
