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
import { integerSetting, neededSetting, textSetting } from '../../plugins/setting-values.ts';
import { createClickhouseApi, type ClickhouseApi } from './clickhouse-api.ts';
import { listRowParts, selectOf, type ClickhouseQuery } from './clickhouse-parts.ts';
import { baseUrlOf } from './export-api.ts';
import { ndjsonChunks } from './ndjson-chunks.ts';

/** Rows of a table or a query. */
export const clickhouse = defineImportSource({
  slug: 'clickhouse',
  name: 'ClickHouse',
  description:
    'Imports the rows of a table or a query, over HTTP, with a user that may only read. Choose the format mapping to say which ' +
    'column is the event, the person and the time.',
  fields: [
    {
      key: 'url',
      name: 'Address',
      type: 'string',
      required: true,
      hint: 'Of the HTTP interface: https://host:8443 or http://host:8123, without user and password.',
    },
    { key: 'user', name: 'User', type: 'string', default: 'default', hint: 'One with readonly = 2 is enough.' },
    { key: 'password', name: 'Password', type: 'string', secret: true, sent_to: ['url'], hint: 'Of that user.' },
    {
      key: 'database',
      name: 'Database',
      type: 'string',
      default: 'default',
      hint: 'Where names without one are looked up.',
    },
    {
      key: 'query',
      name: 'Table or query',
      type: 'text',
      required: true,
      hint: 'The name of a table, or a select whose rows are the records: select id, name, user_id, at from events final.',
    },
    {
      key: 'cursor_column',
      name: 'Cursor column',
      type: 'string',
      required: true,
      hint: 'Column by which rows are cut into parts, best the first of the sorting key: times by day, whole numbers by size.',
    },
    {
      key: 'part_size',
      name: 'Size of a part',
      type: 'number',
      integer: true,
      minimum: 1,
      default: '1000000',
      hint: 'Only for a cursor that is a whole number: how many values make one part.',
    },
  ],
  formats: [],
  range: 'Value of the cursor column, which then must be a time; rows without one are left out.',
  example: {
    url: 'https://clickhouse.example.com:8443',
    user: 'reader',
    password: 'secret',
    database: 'shop',
    query: 'select id, name, user_id, at from events',
    cursor_column: 'at',
  },
  createSource,
});

function createSource(settings: SettingValues, host: SourceHost): Source {
  const query = neededSetting(settings, 'query').replace(/[;\s]+$/, '');
  const source: ClickhouseQuery = {
    query: /\s/.test(query) ? query : `select * from ${query}`,
    cursorColumn: neededSetting(settings, 'cursor_column'),
    partSize: integerSetting(settings, 'part_size', { standard: 1_000_000, min: 1, max: Number.MAX_SAFE_INTEGER }),
  };
  const api = createClickhouseApi(host, {
    url: baseUrlOf(textSetting(settings, 'url'), 'url', ''),
    user: textSetting(settings, 'user', 'default'),
    password: textSetting(settings, 'password'),
    database: textSetting(settings, 'database', 'default'),
  });
  return {
    concurrency: 2,
    listParts: (range, context) => listRowParts((sql) => api.rows(sql, context), source, range),
    open: (part, context) => readPart(api, source, part, context),
  };
}

/** An answer that breaks off in the middle may end like a whole one: its rows are counted. */
async function* readPart(
  api: ClickhouseApi,
  source: ClickhouseQuery,
  part: SourcePart,
  { signal }: SourceContext,
): AsyncGenerator<RecordChunk> {
  const { sql, rows } = selectOf(source, part);
  const response = await api.ask(sql, signal);
  let count = 0;
  for await (const chunk of ndjsonChunks(response.body, `ClickHouse, ${part.key}`, signal)) {
    count += chunk.count;
    yield chunk;
  }
  if (count === rows) return;
  throw new SourceChangedError(`${part.key} had ${rows} rows when it was listed, and ${count} when it was read`);
}
