import type { RecordChunk, ResolveHost, Source, SourceContext, SourceHost, SourcePart } from '../source.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { integerSetting, neededSetting, textSetting, yesSetting } from '../../plugins/setting-values.ts';
import { listRowParts, selectOf, type PostgresQuery } from './postgres-parts.ts';
import { createRowWriter } from './postgres-rows.ts';
import { openSession, type PostgresPlace } from './postgres-session.ts';

const firstFetch = 100;
const fetchBytes = 4 * 1024 * 1024;
const tlsChoices = ['verify', 'no verify', 'off'] as const;

/** Rows of a query. */
export const postgres = defineImportSource({
  slug: 'postgres',
  name: 'PostgreSQL',
  description:
    'Imports the rows of a query, read in transactions that cannot change anything. Choose the format mapping to say which ' +
    'column is the event, the person and the time.',
  fields: [
    {
      key: 'url',
      name: 'Connection string',
      type: 'string',
      secret: true,
      hint: 'postgres://user:password@host:5432/database. Or the fields that follow.',
    },
    { key: 'host', name: 'Host', type: 'string', hint: 'Name or address of the PostgreSQL server.' },
    { key: 'port', name: 'Port', type: 'string', default: '5432', hint: 'Of the server; nearly always 5432.' },
    { key: 'database', name: 'Database', type: 'string', hint: 'Name of the database.' },
    { key: 'user', name: 'User', type: 'string', hint: 'One that may only read is enough.' },
    { key: 'password', name: 'Password', type: 'string', secret: true, hint: 'Of that user.' },
    {
      key: 'tls',
      name: 'TLS',
      type: 'choice',
      choices: tlsChoices,
      default: 'verify',
      hint: '`no verify` encrypts without a look at the certificate; `off` does not encrypt.',
    },
    {
      key: 'query',
      name: 'Query',
      type: 'string',
      required: true,
      hint: 'A select whose rows are the records: select id, name, user_id, created_at, data from events.',
    },
    {
      key: 'cursor_column',
      name: 'Cursor column',
      type: 'string',
      required: true,
      hint: 'Column of the query by which rows are cut into parts and ordered: a time or a number, with an index.',
    },
    {
      key: 'unique_cursor',
      name: 'Cursor is unique',
      type: 'choice',
      choices: ['No', 'Yes'],
      default: 'No',
      hint: 'Yes: no two rows share a value, and old rows never change; an interrupted part then goes on where it stopped.',
    },
    {
      key: 'part_size',
      name: 'Size of a part',
      type: 'string',
      default: '1000000',
      hint: 'Only for a cursor that is a whole number: how many values make one part. Times are cut by day.',
    },
    {
      key: 'batch_size',
      name: 'Rows at once',
      type: 'string',
      default: '5000',
      hint: 'Rows fetched at once at most, 1 to 100000; fewer where rows are large.',
    },
  ],
  formats: [],
  range: 'Value of the cursor column, which then must be a time; rows without one are left out.',
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
  const place = placeOf(settings);
  const source: PostgresQuery = {
    query: neededSetting(settings, 'query').replace(/[;\s]+$/, ''),
    cursorColumn: neededSetting(settings, 'cursor_column'),
    partSize: integerSetting(settings, 'part_size', { standard: 1_000_000, min: 1, max: Number.MAX_SAFE_INTEGER }),
    stable: yesSetting(settings, 'unique_cursor'),
  };
  const fetchMax = integerSetting(settings, 'batch_size', { standard: 5000, min: 1, max: 100_000 });
  return {
    concurrency: 1,
    listParts: async (range, { signal }) => {
      await using session = await openSession(place, host.resolve, signal);
      return await listRowParts(session, source, range);
    },
    open: (part, context) => rowChunks({ place, source, fetchMax, resolve: host.resolve }, part, context),
  };
}

interface Reading {
  readonly place: PostgresPlace;
  readonly source: PostgresQuery;
  readonly fetchMax: number;
  readonly resolve: ResolveHost;
}

async function* rowChunks(
  { place, source, fetchMax, resolve }: Reading,
  part: SourcePart,
  { signal }: SourceContext,
): AsyncGenerator<RecordChunk> {
  const select = selectOf(source, part);
  await using session = await openSession(place, resolve, signal);
  await session.query(`declare part no scroll cursor for ${select}`);
  let bytesRead = 0;
  for (let count = Math.min(firstFetch, fetchMax); ;) {
    const { columns, rows } = await session.query(`fetch forward ${count} from part`);
    if (rows.length === 0) return;
    const write = createRowWriter(columns, session.lists);
    const lines = Buffer.from(rows.map(write).join(''));
    bytesRead += lines.length;
    yield { lines, count: rows.length, bytesRead };
    // Towards a few MB at once, by the size that rows had, and never more than twice as many as before.
    const fitting = Math.floor((fetchBytes * rows.length) / lines.length);
    count = Math.max(1, Math.min(fetchMax, count * 2, fitting));
  }
}

function placeOf(settings: SettingValues): PostgresPlace {
  const tls = tlsChoices.find((choice) => choice === textSetting(settings, 'tls', 'verify'));
  if (tls === undefined) throw wrongSetting('tls', `expected ${tlsChoices.join(', ')}`);
  const text = textSetting(settings, 'url').trim();
  if (text !== '') return placeOfUrl(text, tls);
  return {
    host: neededSetting(settings, 'host'),
    port: integerSetting(settings, 'port', { standard: 5432, min: 1, max: 65_535 }),
    database: neededSetting(settings, 'database'),
    user: neededSetting(settings, 'user'),
    password: textSetting(settings, 'password'),
    tls,
  };
}

function placeOfUrl(text: string, tls: PostgresPlace['tls']): PostgresPlace {
  const url = URL.parse(text);
  const expected = 'expected postgres://user:password@host:5432/database';
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || url.hostname === '' || url.username === '') {
    throw wrongSetting('url', expected);
  }
  const mode = url.searchParams.get('sslmode');
  try {
    const user = decodeURIComponent(url.username);
    return {
      host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? 5432 : Number(url.port),
      user,
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)) || user,
      tls: mode === 'disable' ? 'off' : mode === 'no-verify' ? 'no verify' : tls,
    };
  } catch (cause) {
    // A percent sign that is not written as %25; the text itself is a secret.
    throw wrongSetting('url', `${expected}, with % written as %25`, { cause });
  }
}
