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
import { integerSetting, neededSetting, yesSetting } from '../../plugins/setting-values.ts';
import { placeFields, placeOf, type DatabaseKind } from './database-place.ts';
import { checksumOf, listRowParts, selectOf, type PostgresQuery } from './postgres-parts.ts';
import { createRowWriter } from './postgres-rows.ts';
import { openSession, type PostgresSession } from './postgres-session.ts';
import { createSnapshots, type Snapshots } from './snapshots.ts';

const firstFetch = 100;
const fetchBytes = 4 * 1024 * 1024;
const kind: DatabaseKind = { name: 'PostgreSQL', port: 5432, schemes: ['postgres', 'postgresql'] };

/** Rows of a query. */
export const postgres = defineImportSource({
  slug: 'postgres',
  name: 'PostgreSQL',
  description:
    'Imports the rows of a query as of the beginning of the import, in one read-only transaction. ' +
    'Choose the format mapping to define which column is the event, the person and the time.',
  fields: [
    ...placeFields(kind),
    {
      key: 'query',
      name: 'Query',
      type: 'text',
      required: true,
      hint: 'A select whose rows are the records: select id, name, user_id, created_at, data from events.',
    },
    {
      key: 'cursor_column',
      name: 'Cursor column',
      type: 'string',
      required: true,
      hint: 'Column of the query that splits and orders the rows: a time or a number, with an index.',
    },
    {
      key: 'unique_cursor',
      name: 'Cursor is unique',
      type: 'choice',
      choices: ['No', 'Yes'],
      default: 'No',
      hint: 'Yes: values are unique; an interrupted part then resumes where it stopped, if nothing was written in the meantime.',
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
  const source: PostgresQuery = {
    query: neededSetting(settings, 'query').replace(/[;\s]+$/, ''),
    cursorColumn: neededSetting(settings, 'cursor_column'),
    partSize: integerSetting(settings, 'part_size', { standard: 1_000_000, min: 1, max: Number.MAX_SAFE_INTEGER }),
    stable: yesSetting(settings, 'unique_cursor'),
  };
  const fetchMax = integerSetting(settings, 'batch_size', { standard: 5000, min: 1, max: 100_000 });
  const snapshots = createSnapshots((signal) => openSession(place, host.resolve, signal));
  return {
    concurrency: 1,
    listParts: async (range, context) => {
      await using session = await snapshots.session(context);
      const parts = await listRowParts(session, source, range);
      return parts.map((part) => Object.assign(part, { identity: session.snapshot, isSnapshot: true }));
    },
    open: (part, context) => rowChunks({ snapshots, source, fetchMax }, part, context),
    checksumNow: async (part, context) => {
      await using session = await snapshots.session(context);
      return await checksumIn(session, source, part);
    },
    release: () => snapshots.release(),
  };
}

interface Reading {
  readonly snapshots: Snapshots<PostgresSession>;
  readonly source: PostgresQuery;
  readonly fetchMax: number;
}

async function* rowChunks(
  { snapshots, source, fetchMax }: Reading,
  part: SourcePart,
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  const select = selectOf(source, part);
  await using session = await snapshots.session(context);
  const isHeld = context.holdsSnapshot === true;
  if (isHeld && part.stable && part.identity !== session.snapshot) {
    throw new SourceChangedError(
      `the connection broke while ${part.key} was read, and the database was modified in the meantime`,
    );
  }
  // A trial stops early and leaves its cursor behind.
  const cursor = `part_${randomUUID().replaceAll('-', '')}`;
  await session.query(`declare ${cursor} no scroll cursor for ${select}`);
  yield* fetchRows(session, cursor, fetchMax, context.signal);
  await session.query(`close ${cursor}`);
  if (!isHeld) return;
  context.wasRead?.({ identity: session.snapshot, checksum: await checksumIn(session, source, part) });
}

async function checksumIn(session: PostgresSession, source: PostgresQuery, part: SourcePart): Promise<string> {
  const { rows } = await session.query(checksumOf(source, part));
  const [count, sum] = rows[0] ?? [];
  return `${count ?? ''} rows, sum ${sum ?? ''}`;
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
