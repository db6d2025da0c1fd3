import { startOfDay } from '../../base/time.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { neededSetting, textSetting } from '../../plugins/setting-values.ts';
import {
  SourceError,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
  type TimeRange,
} from '../source.ts';
import { rangeNeedsTime } from './cursor-bounds.ts';
import { baseUrlOf, createExportApi } from './export-api.ts';
import { findResult, name, readPartition, runStatement, type SnowflakeDeps } from './snowflake-api.ts';
import { lineOfRow } from './snowflake-rows.ts';
import { createSnowflakeToken } from './snowflake-token.ts';
import {
  createResultParts,
  pieceOf,
  ResultGoneError,
  resultExpired,
  wrongRows,
  type ResultParts,
} from './stored-results.ts';

const chunkRows = 5000;
const placeKeys = ['warehouse', 'role', 'database', 'schema'] as const;

/** The result of a query. */
export const snowflake = defineImportSource({
  slug: 'snowflake',
  name: 'Snowflake',
  description:
    'Imports the rows of a table or a query as of the beginning of the import. The query runs once. ' +
    'Choose the format mapping to define which column is the event, the person and the time.',
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
    {
      key: 'query',
      name: 'Table or query',
      type: 'text',
      required: true,
      hint: 'database.schema.table, or a select whose rows are the records.',
    },
    {
      key: 'cursor_column',
      name: 'Cursor column',
      type: 'string',
      hint: 'Only to import a time range, or on a schedule: the column that it selects by.',
    },
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

interface SnowflakeQuery {
  /** A select, without a semicolon. */
  readonly query: string;
  /** Empty if not set. */
  readonly cursorColumn: string;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const account = neededSetting(settings, 'account').trim();
  if (!/^[\w-]+(\.[\w-]+)*$/.test(account) || account.length > 200) {
    throw wrongSetting('account', 'expected an account identifier such as myorg-account, without https://');
  }
  const query = neededSetting(settings, 'query').replace(/[;\s]+$/, '');
  const source: SnowflakeQuery = {
    query: /\s/.test(query) ? query : `select * from ${query}`,
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
  const parts = createResultParts({
    run: async (range, context) => {
      const { handle, partitions } = await runStatement(deps, await sqlOf(deps, source, range, context), context);
      return { id: handle, pieces: partitions };
    },
    find: async (id, context) => {
      try {
        return { id, pieces: (await findResult(deps, id, context)).partitions };
      } catch (error) {
        if (error instanceof ResultGoneError) return undefined;
        throw error;
      }
    },
  });
  return {
    concurrency: 2,
    listParts: (range, context) => parts.list(range, context),
    open: (part, context) => readPiece(deps, parts, part, context),
    release: async () => parts.forget(),
  };
}

async function* readPiece(
  deps: SnowflakeDeps,
  parts: ResultParts,
  part: SourcePart,
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  const { result, piece, rows } = pieceOf(part);
  if (rows === 0) return;
  try {
    const { columns } = await findResult(deps, result, context);
    const found = await readPartition(deps, result, piece, context);
    if (found.length !== rows) throw wrongRows(part.key, rows, found.length);
    let bytesRead = 0;
    for (let from = 0; from < found.length; from += chunkRows) {
      context.signal.throwIfAborted();
      const some = found.slice(from, from + chunkRows);
      const lines = Buffer.from(some.map((row) => lineOfRow(columns, row)).join(''));
      bytesRead += lines.length;
      yield { lines, count: some.length, bytesRead };
    }
  } catch (error) {
    if (!(error instanceof ResultGoneError)) throw error;
    parts.forget();
    throw resultExpired(name);
  }
}

/** Throws SourceError if the cursor cannot select the range. */
async function sqlOf(
  deps: SnowflakeDeps,
  { query, cursorColumn }: SnowflakeQuery,
  range: TimeRange,
  context: SourceContext,
): Promise<string> {
  const whole = `select * from (\n${query}\n) as source_rows`;
  if (range.from === undefined && range.to === undefined) return whole;
  const { columns } = await runStatement(deps, `${whole} limit 0`, context);
  const column = columns.find((each) => each.name.toLowerCase() === cursorColumn.toLowerCase());
  if (column === undefined) {
    const names = columns.slice(0, 20).map((each) => each.name);
    throw new SourceError(
      `"from" and "to" need a cursor column of the query, which has the columns ${names.join(', ')}; got "${cursorColumn}"`,
    );
  }
  const limit = literals.get(column.type);
  if (limit === undefined) throw rangeNeedsTime(cursorColumn, column.type);
  const quoted = `"${column.name.replaceAll('"', '""')}"`;
  const conditions = [
    ...(range.from === undefined ? [] : [`${quoted} >= ${limit(Date.parse(range.from), 'from')}`]),
    ...(range.to === undefined ? [] : [`${quoted} < ${limit(Date.parse(range.to), 'to')}`]),
  ];
  return `${whole} where ${conditions.join(' and ')}`;
}

type Literal = (ms: number, end: 'from' | 'to') => string;

const withZone: Literal = (ms) => `'${new Date(ms).toISOString()}'::timestamp_tz`;

/** A date has no time of day: the first and the last day that a range touches belong to it. */
const literals: ReadonlyMap<string, Literal> = new Map<string, Literal>([
  ['timestamp_tz', withZone],
  ['timestamp_ltz', withZone],
  ['timestamp_ntz', (ms) => `'${new Date(ms).toISOString().replace('Z', '')}'::timestamp_ntz`],
  [
    'date',
    (ms, end) => {
      const day = end === 'from' ? startOfDay(ms) : startOfDay(ms + 86_399_999);
      return `'${new Date(day).toISOString().slice(0, 10)}'::date`;
    },
  ],
]);
