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
import { describeQuery, name, readPage, runQuery, type BigqueryDeps, type BigqueryJob } from './bigquery-api.ts';
import { lineOfRow } from './bigquery-rows.ts';
import { rangeNeedsTime } from './cursor-bounds.ts';
import { baseUrlOf, createExportApi } from './export-api.ts';
import { tokenOfServiceAccount } from './gcs-token.ts';
import {
  createResultParts,
  pieceOf,
  ResultGoneError,
  resultExpired,
  wrongRows,
  type ResultParts,
  type StoredResult,
} from './stored-results.ts';

const scope = 'https://www.googleapis.com/auth/bigquery';
const pieceRows = 50_000;
const pageRows = 5000;

/** The result of a query. */
export const bigquery = defineImportSource({
  slug: 'bigquery',
  name: 'BigQuery',
  description:
    'Imports the rows of a table or a query as of the beginning of the import. The query runs once. ' +
    'Choose the format mapping to define which column is the event, the person and the time.',
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
    {
      key: 'query',
      name: 'Table or query',
      type: 'text',
      required: true,
      hint: 'project.dataset.table, or a select in GoogleSQL whose rows are the records.',
    },
    {
      key: 'cursor_column',
      name: 'Cursor column',
      type: 'string',
      hint: 'Only to import a time range, or on a schedule: the column that it selects by, preferably that of the partitions.',
    },
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

interface BigquerySource {
  /** A select, without a semicolon. */
  readonly query: string;
  /** Empty if not set. */
  readonly cursorColumn: string;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const project = neededSetting(settings, 'project').trim();
  if (!/^[a-z0-9:.-]{1,100}$/i.test(project)) throw wrongSetting('project', 'expected the id of a project');
  const query = neededSetting(settings, 'query').replace(/[;\s]+$/, '');
  const source: BigquerySource = {
    query: /\s/.test(query) ? query : `select * from \`${query.replaceAll('`', '')}\``,
    cursorColumn: textSetting(settings, 'cursor_column').trim(),
  };
  const deps: BigqueryDeps = {
    api: createExportApi(host, { name, secrets: [] }),
    token: tokenOfServiceAccount(host, neededSetting(settings, 'key_file'), scope),
    endpoint: baseUrlOf(textSetting(settings, 'endpoint'), 'endpoint', 'https://bigquery.googleapis.com'),
    project,
    location: textSetting(settings, 'location').trim(),
  };
  const parts = createResultParts({
    run: async (range, context) => {
      const job = await runQuery(deps, await sqlOf(deps, source, range, context), context);
      return await resultOf(deps, job, context);
    },
    find: async (id, context) => {
      try {
        return await resultOf(deps, jobOfId(id), context);
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
  parts: ResultParts,
  part: SourcePart,
  context: SourceContext,
): AsyncGenerator<RecordChunk> {
  const { result, piece, rows } = pieceOf(part);
  let read = 0;
  let bytesRead = 0;
  while (read < rows) {
    const at = { start: piece * pieceRows + read, rows: Math.min(pageRows, rows - read) };
    const page = await readPage(deps, jobOfId(result), at, context).catch((error: unknown) => {
      if (!(error instanceof ResultGoneError)) throw error;
      parts.forget();
      throw resultExpired(name);
    });
    if (page.rows.length === 0 || read + page.rows.length > rows)
      throw wrongRows(part.key, rows, read + page.rows.length);
    read += page.rows.length;
    bytesRead += page.bytes;
    const lines = page.rows.map((row) => lineOfRow(page.fields, row)).join('');
    yield { lines: Buffer.from(lines), count: page.rows.length, bytesRead };
  }
}

/** Throws SourceError if the query does more than read, or the cursor cannot select the range. */
async function sqlOf(
  deps: BigqueryDeps,
  { query, cursorColumn }: BigquerySource,
  range: TimeRange,
  context: SourceContext,
): Promise<string> {
  const whole = `select * from (\n${query}\n) as source_rows`;
  const fields = await describeQuery(deps, whole, context);
  if (range.from === undefined && range.to === undefined) return whole;
  const column = fields.find((field) => field.name.toLowerCase() === cursorColumn.toLowerCase());
  if (column === undefined) {
    const names = fields.slice(0, 20).map((field) => field.name);
    throw new SourceError(
      `"from" and "to" need a cursor column of the query, which has the columns ${names.join(', ')}; got "${cursorColumn}"`,
    );
  }
  const limit = literals.get(column.type);
  if (limit === undefined) throw rangeNeedsTime(cursorColumn, column.type);
  const quoted = `\`${column.name}\``;
  const conditions = [
    ...(range.from === undefined ? [] : [`${quoted} >= ${limit(Date.parse(range.from), 'from')}`]),
    ...(range.to === undefined ? [] : [`${quoted} < ${limit(Date.parse(range.to), 'to')}`]),
  ];
  return `${whole} where ${conditions.join(' and ')}`;
}

type Literal = (ms: number, end: 'from' | 'to') => string;

/** A date has no time of day: the first and the last day that a range touches belong to it. */
const literals: ReadonlyMap<string, Literal> = new Map<string, Literal>([
  ['TIMESTAMP', (ms) => `timestamp '${new Date(ms).toISOString()}'`],
  ['DATETIME', (ms) => `datetime '${new Date(ms).toISOString().replace('Z', '')}'`],
  [
    'DATE',
    (ms, end) => {
      const day = end === 'from' ? startOfDay(ms) : startOfDay(ms + 86_399_999);
      return `date '${new Date(day).toISOString().slice(0, 10)}'`;
    },
  ],
]);
