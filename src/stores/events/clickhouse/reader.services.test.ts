/** The user of docs/guides/query-events.md, as other tools use it: through the vendor's client. */
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertRows, newProject, testRow } from '../../../../test/conformance/event-store/event-store.ts';
import type { RunStore } from '../run-tables.ts';
import { connectClickhouse } from './connect-clickhouse.ts';

const { env } = process;
const url = env['CLICKHOUSE_URL'] ?? '';
const readerUrl = env['CLICKHOUSE_READER_URL'] ?? '';
const reason = readerUrl === '' ? ' (skipped: CLICKHOUSE_READER_URL is not set, see tools/with-clickhouse.ts)' : '';

describe.skipIf(readerUrl === '')(`a user that reads events with other tools${reason}`, () => {
  const reader = createClient({
    url: readerUrl === '' ? 'http://none' : readerUrl,
    log: { level: ClickHouseLogLevel.OFF },
  });
  const project = newProject();
  const uuid = '01970000-0000-7000-8000-00000000abcd';
  const dirty = String.raw`{"id":1234567890123456789,"text":"it's \"quoted\" \\ 🛒"}`;
  let store: RunStore;

  beforeAll(async () => {
    store = await connectClickhouse(url, {
      cluster: env['MILLRACE_CLICKHOUSE_CLUSTER'] ?? '',
      replicas: env['MILLRACE_CLICKHOUSE_REPLICAS'] ?? '',
    });
    // Sent twice: the second one is stored until parts are merged.
    for (const token of ['first', 'again']) {
      await insertRows(store, `${project}-${token}`, [testRow(project, { uuid, properties: dirty }), testRow(project)]);
    }
  });
  afterAll(async () => {
    await reader.close();
    await store.close();
  });

  const rows = async <Row>(query: string, settings = {}): Promise<Row[]> => {
    const answer = await reader.query({ query, format: 'JSONEachRow', clickhouse_settings: settings });
    return await answer.json<Row>();
  };

  it('sees each event once, as stored, and may use settings', async () => {
    const where = `project_id = ${project} AND uuid = '${uuid}'`;
    expect(
      await rows(`SELECT properties FROM events WHERE ${where}`, { max_threads: 1, max_execution_time: 5 }),
    ).toEqual([{ properties: dirty }]);
    expect(await rows("SELECT name FROM system.tables WHERE database = 'millrace' AND name = 'events'")).toHaveLength(
      1,
    );
  });

  it.each([
    ['insert', 'INSERT INTO events (project_id) SELECT 1', /Not enough privileges|READONLY/],
    ['delete', 'DELETE FROM events WHERE 1', /Not enough privileges|READONLY/],
    ['drop', 'DROP TABLE events', /Not enough privileges|READONLY/],
    ['read a file', "SELECT * FROM file('/etc/passwd', LineAsString)", /Not enough privileges/],
    ['write a file', "SELECT 1 INTO OUTFILE 'reader.tsv'", /not allowed/],
    ['reach an address', "SELECT * FROM url('http://127.0.0.1:1/', LineAsString)", /Not enough privileges/],
    ['reach a server', "SELECT * FROM remote('127.0.0.1:1', system.one)", /Not enough privileges/],
    ['run a program', "SELECT * FROM executable('x', 'TSV', 'a String')", /Not enough privileges/],
    ['see the queries of others', 'SELECT * FROM system.processes', /Not enough privileges/],
    ['read other tables', 'SELECT * FROM schema_version', /Not enough privileges/],
    ['stop queries', 'KILL QUERY WHERE 1', /Not enough privileges|READONLY/],
    ['stop the server', 'SYSTEM SHUTDOWN', /Not enough privileges|READONLY/],
    ['use two statements', 'SELECT 1; DROP TABLE events', /Multi-statements are not allowed|Syntax error/],
    ['raise its limits', 'SELECT 1 SETTINGS max_memory_usage = 4000000000', /max_memory_usage shouldn't be greater/],
    ['have no limit', 'SELECT 1 SETTINGS max_execution_time = 0', /max_execution_time shouldn't be less/],
    ['write with other settings', 'SELECT 1 SETTINGS readonly = 0', /Cannot modify 'readonly'/],
  ])('cannot %s', async (_, query, refusal) => {
    const answered = reader.exec({ query }).then(({ stream }) => stream.destroy());
    await expect(answered).rejects.toThrow(refusal);
  });
});
