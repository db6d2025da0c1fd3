import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { neededSetting, textSetting } from '../../plugins/setting-values.ts';
import type { RecordChunk, Source, SourceContext, SourceHost } from '../source.ts';
import { describeQuery, name, readPage, runQuery, type BigqueryDeps, type BigqueryJob } from './bigquery-api.ts';
import { lineOfRow } from './bigquery-rows.ts';
import { baseUrlOf, createExportApi } from './export-api.ts';
import { tokenOfServiceAccount } from './gcs-token.ts';
import { dayOf, everyRow, isWhole, rangedQuery, withoutZone, type RangeDialect } from './ranged-query.ts';
import { cursorField, mappingHint, queryField, queryOf, type SqlQuery } from './sql-query.ts';
import { createResultSource, wrongRows, type ResultPiece, type StoredResult } from './stored-results.ts';

const scope = 'https://www.googleapis.com/auth/bigquery';
const pieceRows = 50_000;
const pageRows = 5000;

/** The result of a query. */
export const bigquery = defineImportSource({
  slug: 'bigquery',
  name: 'BigQuery',
  description:
    'Imports the rows of a table or a query as of the beginning of the import. The query runs once. ' + mappingHint,
  fields: [
    {
      key: 'project',
      name: 'Project',
      type: 'string',
      required: true,
      hint: 'Id of the project that pays for the query.',
    },
    {
      key: 'key_file',
      name: 'Key file',
      type: 'text',
      secret: true,
      required: true,
      sent_to: ['endpoint', 'project'],
      hint: 'JSON key of a service account with the roles BigQuery Job User and BigQuery Data Viewer.',
    },
    queryField('project.dataset.table, or a select in GoogleSQL whose rows are the records.'),
    cursorField(
      'Only to import a time range, or on a schedule: the column that it selects by, preferably that of the partitions.',
      { required: false },
    ),
    {
      key: 'location',
      name: 'Location',
      type: 'string',
      hint: 'Where the dataset is, such as EU; found automatically if empty.',
    },
    {
      key: 'endpoint',
      name: 'Endpoint',
      type: 'string',
      hint: 'Only for an address other than https://bigquery.googleapis.com, such as a private one.',
    },
  ],
  formats: [],
  range: 'Value of the cursor column, which must then be a time (DATETIME as UTC); rows without a value are skipped.',
  example: {
    project: 'my-project',
    key_file:
      '{"type": "service_account", "client_email": "…", "private_key": "…", "token_uri": "https://oauth2.googleapis.com/token"}',
    query: 'my-project.shop.orders',
  },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const project = neededSetting(settings, 'project').trim();
  if (!/^[a-z0-9:.-]{1,100}$/i.test(project)) throw wrongSetting('project', 'expected the id of a project');
  const source: SqlQuery = {
    query: queryOf(settings, (table) => `\`${table.replaceAll('`', '')}\``),
    cursorColumn: textSetting(settings, 'cursor_column').trim(),
  };
  const deps: BigqueryDeps = {
    api: createExportApi(host, { name, secrets: [] }),
    token: tokenOfServiceAccount(host, neededSetting(settings, 'key_file'), scope),
    endpoint: baseUrlOf(textSetting(settings, 'endpoint'), 'endpoint', 'https://bigquery.googleapis.com'),
    project,
    location: textSetting(settings, 'location').trim(),
  };
  return createResultSource({
    name,
    run: async (range, context) => {
      // Also of a query without a range: whether it only reads.
      const fields = await describeQuery(deps, everyRow(source), context);
      const sql = isWhole(range) ? everyRow(source) : rangedQuery(source, range, fields, dialect);
      return await resultOf(deps, await runQuery(deps, sql, context), context);
    },
    find: (id, context) => resultOf(deps, jobOfId(id), context),
    read: (piece, context) => readPiece(deps, piece, context),
  });
}

async function resultOf(deps: BigqueryDeps, job: BigqueryJob, context: SourceContext): Promise<StoredResult> {
  const { total } = await readPage(deps, job, { start: 0, rows: 0 }, context);
  const pieces = Array.from({ length: Math.ceil(total / pieceRows) }, (_, piece) =>
    Math.min(pieceRows, total - piece * pieceRows),
  );
  return { id: `${job.location}/${job.id}`, pieces };
}

function jobOfId(text: string): BigqueryJob {
  const slash = text.indexOf('/');
  return { location: text.slice(0, slash), id: text.slice(slash + 1) };
}

async function* readPiece(
  deps: BigqueryDeps,
  { key, result, piece, rows }: ResultPiece,
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  let read = 0;
  let bytesRead = 0;
  while (read < rows) {
    const at = { start: piece * pieceRows + read, rows: Math.min(pageRows, rows - read) };
    const page = await readPage(deps, jobOfId(result), at, context);
    if (page.rows.length === 0 || read + page.rows.length > rows) throw wrongRows(key, rows, read + page.rows.length);
    read += page.rows.length;
    bytesRead += page.bytes;
    const lines = page.rows.map((row) => lineOfRow(page.fields, row)).join('');
    yield { lines: Buffer.from(lines), count: page.rows.length, bytesRead };
  }
}

const dialect: RangeDialect = {
  quote: (column) => `\`${column}\``,
  literals: new Map([
    ['TIMESTAMP', (ms) => `timestamp '${new Date(ms).toISOString()}'`],
    ['DATETIME', (ms) => `datetime '${withoutZone(ms)}'`],
    ['DATE', (ms, end) => `date '${dayOf(ms, end)}'`],
  ]),
};
