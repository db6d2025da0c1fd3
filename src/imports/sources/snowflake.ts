import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { neededSetting, textSetting } from '../../plugins/setting-values.ts';
import type { RecordChunk, Source, SourceContext, SourceHost, TimeRange } from '../source.ts';
import { baseUrlOf, createExportApi } from './export-api.ts';
import { dayOf, everyRow, isWhole, rangedQuery, withoutZone, type Literal, type RangeDialect } from './ranged-query.ts';
import { findResult, name, readPartition, runStatement, type SnowflakeDeps } from './snowflake-api.ts';
import { lineOfRow } from './snowflake-rows.ts';
import { createSnowflakeToken } from './snowflake-token.ts';
import { cursorField, mappingHint, queryField, queryOf, type SqlQuery } from './sql-query.ts';
import { createResultSource, wrongRows, type ResultPiece } from './stored-results.ts';

const chunkRows = 5000;
const placeKeys = ['warehouse', 'role', 'database', 'schema'] as const;

/** The result of a query. */
export const snowflake = defineImportSource({
  slug: 'snowflake',
  name: 'Snowflake',
  description:
    'Imports the rows of a table or a query as of the beginning of the import. The query runs once. ' + mappingHint,
  fields: [
    {
      key: 'account',
      name: 'Account',
      type: 'string',
      required: true,
      hint: 'Account identifier: myorg-account, or a locator with its region, such as xy12345.eu-central-1.',
    },
    { key: 'user', name: 'User', type: 'string', required: true, hint: 'A user with a public key; reading is enough.' },
    {
      key: 'private_key',
      name: 'Private key',
      type: 'text',
      secret: true,
      required: true,
      sent_to: ['account', 'user', 'endpoint'],
      hint: 'RSA key in PEM, whose public key the user has.',
    },
    {
      key: 'passphrase',
      name: 'Passphrase',
      type: 'string',
      secret: true,
      sent_to: [],
      hint: 'Only for an encrypted private key.',
    },
    { key: 'warehouse', name: 'Warehouse', type: 'string', hint: 'Runs the query; by default that of the user.' },
    { key: 'role', name: 'Role', type: 'string', hint: 'A role that may only read; by default that of the user.' },
    { key: 'database', name: 'Database', type: 'string', hint: 'Database of tables without one in the query.' },
    { key: 'schema', name: 'Schema', type: 'string', hint: 'Schema of tables without one in the query.' },
    queryField('database.schema.table, or a select whose rows are the records.'),
    cursorField('Only to import a time range, or on a schedule: the column that it selects by.', { required: false }),
    {
      key: 'endpoint',
      name: 'Endpoint',
      type: 'string',
      hint: 'Only for an address other than https://<account>.snowflakecomputing.com, such as a private link.',
    },
  ],
  formats: [],
  range: 'Value of the cursor column, which must then be a time (NTZ as UTC); rows without a value are skipped.',
  example: {
    account: 'myorg-account',
    user: 'IMPORTER',
    private_key: '-----BEGIN PRIVATE KEY-----…',
    warehouse: 'IMPORT_WH',
    query: 'shop.public.orders',
  },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const account = neededSetting(settings, 'account').trim();
  if (!/^[\w-]+(\.[\w-]+)*$/.test(account) || account.length > 200) {
    throw wrongSetting('account', 'expected an account identifier such as myorg-account, without https://');
  }
  const source: SqlQuery = {
    query: queryOf(settings),
    cursorColumn: textSetting(settings, 'cursor_column').trim(),
  };
  const passphrase = textSetting(settings, 'passphrase');
  const user = neededSetting(settings, 'user').trim();
  const of = { account, user, privateKey: neededSetting(settings, 'private_key'), passphrase };
  const place = placeKeys.map((key) => [key, textSetting(settings, key).trim()] as const);
  const standard = `https://${account.toLowerCase().replaceAll('_', '-')}.snowflakecomputing.com`;
  const deps: SnowflakeDeps = {
    api: createExportApi(host, { name, secrets: [passphrase] }),
    token: createSnowflakeToken(of, host.now),
    url: baseUrlOf(textSetting(settings, 'endpoint'), 'endpoint', standard),
    place: Object.fromEntries(place.filter(([, value]) => value !== '')),
  };
  return createResultSource({
    name,
    run: async (range, context) => {
      const { handle, partitions } = await runStatement(deps, await sqlOf(deps, source, range, context), context);
      return { id: handle, pieces: partitions };
    },
    find: async (id, context) => ({ id, pieces: (await findResult(deps, id, context)).partitions }),
    read: (piece, context) => readPiece(deps, piece, context),
  });
}

async function sqlOf(deps: SnowflakeDeps, source: SqlQuery, range: TimeRange, context: SourceContext): Promise<string> {
  if (isWhole(range)) return everyRow(source);
  const { columns } = await runStatement(deps, `${everyRow(source)} limit 0`, context);
  return rangedQuery(source, range, columns, dialect);
}

async function* readPiece(
  deps: SnowflakeDeps,
  { key, result, piece, rows }: ResultPiece,
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  if (rows === 0) return;
  const { columns } = await findResult(deps, result, context);
  const found = await readPartition(deps, result, piece, context);
  if (found.length !== rows) throw wrongRows(key, rows, found.length);
  let bytesRead = 0;
  for (let from = 0; from < found.length; from += chunkRows) {
    context.signal.throwIfAborted();
    const some = found.slice(from, from + chunkRows);
    const lines = Buffer.from(some.map((row) => lineOfRow(columns, row)).join(''));
    bytesRead += lines.length;
    yield { lines, count: some.length, bytesRead };
  }
}

const withZone: Literal = (ms) => `'${new Date(ms).toISOString()}'::timestamp_tz`;

const dialect: RangeDialect = {
  quote: (column) => `"${column.replaceAll('"', '""')}"`,
  literals: new Map([
    ['timestamp_tz', withZone],
    ['timestamp_ltz', withZone],
    ['timestamp_ntz', (ms) => `'${withoutZone(ms)}'::timestamp_ntz`],
    ['date', (ms, end) => `'${dayOf(ms, end)}'::date`],
  ]),
};
