/**
 * Real: the commands of the guides as they stand there, the shell, the import, PostgreSQL's engine. Doubled: the services that
 * are moved away from, the target. Only addresses and keys are replaced. The format's reader is the oracle.
 */
import { spawnSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeZip } from '../../../test/support/archives.ts';
import { startBigqueryServer } from '../../../test/support/bigquery-server.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { openCommandShell, type CommandShell } from '../../../test/support/command-shell.ts';
import { startExportServer, type Answer, type ExportRequestOf } from '../../../test/support/export-server.ts';
import { inFolder, sorted, type Sent } from '../../../test/support/guide-import.ts';
import { readBlocks } from '../../../test/support/page-blocks.ts';
import { shareOf } from '../../../test/support/page-commands.ts';
import { startSnowflakeServer } from '../../../test/support/snowflake-server.ts';
import { startPostgresServer } from '../../../test/support/postgres-source.ts';
import { amplitudeRecords } from '../../imports/formats/amplitude/records.fixture.ts';
import { mixpanelRecords } from '../../imports/formats/mixpanel/records.fixture.ts';
import { posthogRecords } from '../../imports/formats/posthog/records.fixture.ts';
import { findFormat } from '../../imports/formats/registry.ts';
import { storedOf } from '../../../test/support/guide-exports.ts';

const share = shareOf(import.meta.url);
const pageOf = (tool: string): string => `docs/guides/migrate-${tool}.md`;
let shell: CommandShell;
beforeAll(async () => {
  shell = await openCommandShell();
});
afterAll(() => shell[Symbol.asyncDispose]());

type Replaced = Readonly<Record<string, string>>;

/** Each of the replaced texts has to be in the commands. */
function withReplaced(commands: string, replaced: Replaced): string {
  return Object.entries(replaced).reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replaceAll(from, to);
  }, commands);
}

interface Vendor {
  readonly tool: string;
  readonly records: readonly unknown[];
  readonly answer: (request: ExportRequestOf) => Answer;
  /** What the reader fills in, and the address. */
  readonly replaced: (url: string) => Replaced;
  readonly secretFile: string;
  readonly authorization: string;
}

const basic = (words: string): string => `Basic ${Buffer.from(words).toString('base64')}`;
const toLines = (records: readonly unknown[]): Buffer =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));

function mixpanel(): Vendor {
  const records = [...mixpanelRecords(11, 240)].filter((record) => !('$distinct_id' in record));
  return {
    tool: 'mixpanel',
    records,
    answer: ({ path, query }) => {
      if (path === '/api/2.0/engage')
        return { json: { page: 0, page_size: 10, session_id: 's', total: 0, results: [] } };
      if (path !== '/api/2.0/export' || query.get('project_id') !== '7') return { status: 404 };
      const [from, to] = [query.get('from_date') ?? '', query.get('to_date') ?? ''];
      const has = from <= '2024-01-10' && '2024-01-10' <= to;
      return { bytes: toLines(has ? records : []), contentType: 'application/x-ndjson' };
    },
    replaced: (url) => ({
      '--source mixpanel': `--source mixpanel --setting base_url=${url}`,
      '<service account>': 'import.mp-service-account',
      '<project id>': '7',
    }),
    secretFile: 'secret.txt',
    authorization: basic('import.mp-service-account:the-secret'),
  };
}

function amplitude(): Vendor {
  const records = [...amplitudeRecords(11, 240)];
  const file = { path: '7/7_2024-01-10_0#0.json.gz', content: gzipSync(toLines(records)) };
  return {
    tool: 'amplitude',
    records,
    answer: ({ path, query }) => {
      if (path !== '/api/2/export') return { status: 404 };
      const asked = `${query.get('start')} ${query.get('end')}`;
      if (asked !== '20240101T00 20240101T23') return { status: 404, body: 'Raw data files were not found.' };
      return { bytes: Buffer.from(makeZip([file])), contentType: 'application/zip' };
    },
    replaced: (url) => ({
      '--source amplitude': `--source amplitude --setting base_url=${url}`,
      '<api key>': 'key-of-the-project',
    }),
    secretFile: 'secret.txt',
    authorization: basic('key-of-the-project:the-secret'),
  };
}

function posthog(): Vendor {
  const all = [...posthogRecords(11, 400)].filter(
    (record) => typeof record['uuid'] === 'string' && typeof record['timestamp'] === 'string',
  );
  const records = all.map(({ uuid, event, distinct_id, properties, timestamp }) => ({
    id: uuid,
    event,
    distinct_id,
    properties,
    timestamp,
  }));
  return {
    tool: 'posthog',
    records,
    answer: ({ path, query }) => {
      if (path !== '/api/projects/7/events') return { status: 404 };
      const [after, before] = [Date.parse(query.get('after') ?? ''), Date.parse(query.get('before') ?? '')];
      const found = records.filter(({ timestamp }) => {
        const ms = Date.parse(String(timestamp));
        return ms >= after && ms < before;
      });
      return { json: { next: null, results: found.toReversed() } };
    },
    replaced: (url) => ({ 'https://eu.posthog.com': url, '<project id>': '7' }),
    secretFile: 'key.txt',
    authorization: 'Bearer the-secret',
  };
}

/** Runs the import of a guide with the rules of its sample. */
async function runWarehouse(tool: string, files: Replaced, replaced: Replaced): Promise<void> {
  const page = pageOf(tool);
  const tried = readBlocks(page).map(({ text }) => text);
  const [rules = ''] = /^cat > rules\.json[^]*?^END\n/m.exec(tried.join('')) ?? [];
  await inFolder(async (folder) => {
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    const block = share.take({ page, heading: 'Run the import' }).join('');
    await shell.run(rules + withReplaced(block, replaced), folder);
  });
}

describe('the commands of the guides that call a service, run as written', () => {
  it.each([mixpanel(), amplitude(), posthog()])('$tool: each of its events arrives once', async (vendor) => {
    await using server = await startExportServer(vendor.answer);
    await using endpoint = await startEndpoint(() => 'keep');
    await inFolder(async (folder) => {
      await writeFile(join(folder, vendor.secretFile), 'the-secret\n');
      const [block = ''] = share.take({ page: pageOf(vendor.tool), heading: 'Run the import' });
      const target = { 'http://127.0.0.1:8000': endpoint.url, '<project key>': 'phc_test' };
      await shell.run(withReplaced(block, { ...vendor.replaced(server.url), ...target }), folder);
      const format = findFormat(vendor.tool);
      if (format === undefined) throw new Error(`expected the format ${vendor.tool}`);
      const expected = storedOf(format, { records: vendor.records });
      expect(expected.length).toBeGreaterThan(100);
      expect(sorted(endpoint.kept as unknown as readonly Sent[])).toEqual(sorted(expected));
      expect(new Set(server.asked.map(({ authorization }) => authorization))).toEqual(new Set([vendor.authorization]));
    });
  });

  it.each([
    {
      vendor: mixpanel(),
      address: 'https://data.mixpanel.com',
      filled: { '<service account>': 'import.mp-service-account', '<secret>': 'the-secret', '<project id>': '7' },
      file: '2024-01.ndjson',
    },
    {
      vendor: amplitude(),
      address: 'https://amplitude.com',
      filled: { '<api key>': 'key-of-the-project', '<secret key>': 'the-secret' },
      file: '2024-01-01.zip',
    },
  ])('$vendor.tool: the export that its guide fetches can be imported', async ({ vendor, address, filled, file }) => {
    await using server = await startExportServer(vendor.answer);
    await using endpoint = await startEndpoint(() => 'keep');
    await inFolder(async (folder) => {
      const [block = ''] = share.take({ page: pageOf(vendor.tool), heading: 'Get the export' });
      await shell.run(withReplaced(block, { ...filled, [address]: server.url }), folder);
      expect(server.asked.map(({ authorization }) => authorization)).toEqual([vendor.authorization]);
      expect(await readdir(folder)).toEqual([file]);
      await shell.run(`npx millrace import ${vendor.tool} ${file} --to ${endpoint.url} --project-key phc_test`, folder);
      expect(endpoint.kept.length).toBeGreaterThan(100);
    });
  });

  it('PostgreSQL, as the user that its guide creates: each row arrives once', async () => {
    await using postgres = await startPostgresServer();
    await using endpoint = await startEndpoint(() => 'keep');
    await postgres.db
      .exec(`create table orders (id bigint primary key, kind text, customer text, at timestamptz, total float8);
      insert into orders select n, 'Order ' || n % 3, 'u' || n % 20,
        timestamptz '2024-05-01T10:00:00Z' + n * interval '10 minutes', n / 4.0 from generate_series(1, 500) as n`);
    const page = pageOf('postgres');
    const blocks = readBlocks(page);
    const [grants = ''] = blocks.flatMap(({ language, text }) => (language === 'sql' ? [text] : []));
    await postgres.db.exec(grants);
    const tried = blocks.map(({ text }) => text).join('');
    const [rules = ''] = /^cat > rules\.json[^]*?^END\n/m.exec(tried) ?? [];
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'password.txt'), 'password-of-importer\n');
      const block = share.take({ page, heading: 'Run the import' }).join('');
      // The engine in this process has neither TLS nor another database.
      const replaced = {
        'host=db.internal': `host=127.0.0.1 --setting port=${postgres.port} --setting tls=off`,
        'database=shop': 'database=postgres',
        'http://127.0.0.1:8000': endpoint.url,
        '<project key>': 'phc_test',
      };
      await shell.run(rules + withReplaced(block, replaced), folder);
      const kept = endpoint.kept as unknown as readonly Sent[];
      const totals = kept.map(({ properties }) => Number(properties['total'])).toSorted((a, b) => a - b);
      expect(totals).toEqual(Array.from({ length: 500 }, (_, at) => (at + 1) / 4));
      const { rows } = await postgres.db.query("select has_table_privilege('importer', 'orders', 'insert') as may");
      expect(rows).toEqual([{ may: false }]);
    });
  });

  it('BigQuery, with the key of a service account: each row arrives once', async () => {
    await using server = await startBigqueryServer();
    await using endpoint = await startEndpoint(() => 'keep');
    const names = ['id', 'kind', 'customer', 'at', 'total'];
    const types = ['INTEGER', 'STRING', 'STRING', 'TIMESTAMP', 'FLOAT'];
    server.schema = names.map((name, at) => ({ name, type: types[at] ?? '' }));
    server.rows = Array.from({ length: 300 }, (_, n) => ({
      f: [`${n}`, `Order ${n % 3}`, `u${n % 20}`, `${1_714_557_600_000_000 + n}`, `${n / 4}`].map((v) => ({ v })),
    }));
    server.pageRowsMax = 100;
    const replaced = {
      'project=my-project': `project=shop --setting endpoint=${server.url}`,
      'http://127.0.0.1:8000': endpoint.url,
      '<project key>': 'phc_test',
    };
    await runWarehouse('bigquery', { 'bigquery-key.json': server.keyFile }, replaced);
    const kept = endpoint.kept as unknown as readonly Sent[];
    const totals = kept.map(({ properties }) => Number(properties['total'])).toSorted((a, b) => a - b);
    expect(totals).toEqual(Array.from({ length: 300 }, (_, n) => n / 4));
    // The preflight's and the import's are the same text, so that BigQuery's cache answers the second.
    const sql = 'select * from (\nselect * from `my-project.shop.orders`\n) as source_rows';
    expect(server.ran).toEqual([sql, sql]);
  });

  it('Snowflake, with the key pair that its guide creates: each row arrives once', async () => {
    await using server = await startSnowflakeServer();
    await using endpoint = await startEndpoint(() => 'keep');
    const names = ['ID', 'KIND', 'CUSTOMER', 'AT', 'TOTAL'];
    const types = ['fixed', 'text', 'text', 'timestamp_ltz', 'real'];
    server.columns = names.map((name, at) => ({ name, type: types[at] ?? '' }));
    server.partitions = [0, 1, 2].map((part) =>
      Array.from({ length: 100 }, (_, n) => {
        const id = part * 100 + n;
        return [`${id}`, `Order ${id % 3}`, `u${id % 20}`, `${1_714_557_600 + id}.000000000`, `${id / 4}`];
      }),
    );
    const [create = ''] = share.take({ page: pageOf('snowflake'), heading: 'Get the export' });
    await inFolder(async (folder) => {
      // Without openssl the double's own key, of the same form, is used.
      if (spawnSync('openssl', ['version']).error !== undefined) return;
      await shell.run(create, folder);
      server.privateKey = await readFile(join(folder, 'snowflake-key.pem'), 'utf8');
    });
    const replaced = {
      'account=myorg-account': `account=xy12345 --setting endpoint=${server.url}`,
      'http://127.0.0.1:8000': endpoint.url,
      '<project key>': 'phc_test',
    };
    await runWarehouse('snowflake', { 'snowflake-key.pem': server.privateKey }, replaced);
    const kept = endpoint.kept as unknown as readonly Sent[];
    const totals = kept.map(({ properties }) => Number(properties['total'])).toSorted((a, b) => a - b);
    expect(totals).toEqual(Array.from({ length: 300 }, (_, n) => n / 4));
  });

  it('has run all its blocks', () => {
    expect(share.left()).toEqual([]);
  });
});
