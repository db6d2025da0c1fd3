import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { matomoRecords } from '../../imports/formats/matomo/records.fixture.ts';
import { formats } from '../../imports/formats/registry.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { openCommandShell, type CommandShell } from '../../../test/support/command-shell.ts';
import { inFolder, sorted, type Sent } from '../../../test/support/guide-import.ts';
import { shareOf } from '../../../test/support/page-commands.ts';
import { formatsWithExport, layExport } from '../../../test/support/guide-exports.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const guides = 'docs/guides';
const names = (await readdir(join(root, guides))).filter((name) => /^migrate-.*\.md$/.test(name));
const share = shareOf(import.meta.url);

let shell: CommandShell;
beforeAll(async () => {
  shell = await openCommandShell();
});
afterAll(() => shell[Symbol.asyncDispose]());

/** SQLite's own command, where the machine has none: the engine is the same. */
const sqlite3 = `command -v sqlite3 >/dev/null || sqlite3() {
  "${process.execPath}" -e '
    const [, file, words] = process.argv;
    const [, copy] = /^\\.backup (.*)/.exec(words) ?? [];
    const database = new (require("node:sqlite").DatabaseSync)(file);
    if (copy === undefined) database.exec(words);
    else database.prepare("vacuum into ?").run(copy);' "$@"
}\n`;

/** As with SQLite's; the engine is that of the package. */
const duckdb = `command -v duckdb >/dev/null || duckdb() {
  (cd "${root}" && "${process.execPath}" --input-type=module -e '
    import { DuckDBInstance } from "@duckdb/node-api";
    const database = await DuckDBInstance.create(process.argv[1]);
    const connection = await database.connect();
    await connection.run(process.argv[2]);
    connection.closeSync();
    database.closeSync();' "$OLDPWD/$1" "$2")
}\n`;

async function runIn(folder: string, commands: string, url: string): Promise<string> {
  const script =
    sqlite3 + duckdb + commands.replaceAll('http://127.0.0.1:8000', url).replaceAll('<project key>', 'phc_test');
  return shell.run(script, folder);
}

describe('the migration guides', () => {
  it('there is one per format, and one for mapped tables and files', () => {
    const slugs = formats.map(({ slug }) => slug);
    const without = slugs.filter((slug) => !names.some((name) => new RegExp(`^migrate-${slug}[.-]`).test(name)));
    expect(without).toEqual(['mapping']);
    expect(names).toEqual(
      expect.arrayContaining([
        'migrate-csv-parquet.md',
        'migrate-kafka.md',
        'migrate-postgres.md',
        'migrate-sqlite.md',
      ]),
    );
  });

  it.each(names)('%s: its example works as written', async (name) => {
    await using endpoint = await startEndpoint(() => 'keep');
    await inFolder(async (folder) => {
      const commands = share.take({ page: `${guides}/${name}`, heading: 'Try it with sample data' }).join('\n');
      expect(commands).toContain('npx millrace import ');
      expect(await runIn(folder, commands, endpoint.url)).toContain('check passed');
      expect(endpoint.kept.length).toBeGreaterThan(1);
      expect(await readFile(join(folder, 'report.html'), 'utf8')).toContain('<html');
    });
  });

  // Heap's are several imports in a loop that continues only while each is exact: test/e2e/guide-operations.test.ts runs it.
  it.each(formatsWithExport.filter((slug) => slug !== 'heap'))(
    '%s: the import, run as written on a generated export, sends each of its events once',
    async (slug) => {
      await using endpoint = await startEndpoint(() => 'keep');
      await inFolder(async (folder) => {
        const expected = await layExport(slug, folder);
        const page = new RegExp(`/migrate-${slug}[.-]`);
        await runIn(folder, share.take({ page, heading: 'Run the import' }).join(''), endpoint.url);
        expect(expected.length).toBeGreaterThan(100);
        expect(sorted(endpoint.kept as unknown as readonly Sent[])).toEqual(sorted(expected));
      });
    },
  );

  it.each([
    ['mixpanel', 'From a warehouse', ['Order Done', 'Signed Up']],
    ['amplitude', 'From a warehouse', ['$identify', 'Order Done', 'Signed Up']],
    ['ga4', 'From a flattened table', ['$pageview', 'scroll']],
    ['segment-rudderstack', 'From a warehouse', ['$identify', 'Order Completed', 'Order Completed']],
    ['csv-parquet', 'Import a table of persons or groups', ['$groupidentify', '$identify', '$set', '$set']],
  ])('%s: the table is imported as written: %s', async (tool, heading, expected) => {
    await using endpoint = await startEndpoint(() => 'keep');
    await inFolder(async (folder) => {
      await runIn(folder, share.take({ page: `${guides}/migrate-${tool}.md`, heading }).join(''), endpoint.url);
      const kept = endpoint.kept as unknown as readonly Sent[];
      expect(kept.map(({ event }) => event).toSorted()).toEqual(expected);
    });
  });

  it('Matomo: visits are fetched page by page to the last one, with the token in the body', async () => {
    const visits = [...matomoRecords(5, 2300)];
    const asked: string[] = [];
    const matomo = createServer((request, response) => {
      void text(request).then((body) => {
        const query = new URL(request.url ?? '', 'http://matomo.example').searchParams;
        const from = Number(query.get('filter_offset'));
        asked.push(`${query.get('method')} ${from} ${body}`);
        response.end(JSON.stringify(visits.slice(from, from + Number(query.get('filter_limit')))));
      });
    });
    await using _ = await listening(matomo);
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'token.txt'), 'token_auth=abc\n');
      const commands = share.take({ page: `${guides}/migrate-matomo.md`, heading: 'Get the export' }).join('');
      const { port } = matomo.address() as AddressInfo;
      await runIn(folder, commands.replace('https://matomo.example', `http://127.0.0.1:${port}`), '');
      expect(asked).toEqual([0, 1000, 2000, 3000].map((from) => `Live.getLastVisitsDetails ${from} token_auth=abc`));
      const files = (await readdir(join(folder, 'exports'))).toSorted();
      const read = async (file: string) =>
        JSON.parse(await readFile(join(folder, 'exports', file), 'utf8')) as unknown[];
      expect((await Promise.all(files.map(read))).flat()).toEqual(visits);
    });
  });

  it('CSV: a directory of files is imported by the rules of the example', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await inFolder(async (folder) => {
      const page = `${guides}/migrate-csv-parquet.md`;
      const tried = share.take({ page, heading: 'Try it with sample data' }).join('');
      const [rules = ''] = /^cat > rules\.json[^]*?^END\n/m.exec(tried) ?? [];
      const rows = Array.from(
        { length: 300 },
        (_, at) => `${at};Order ${at % 3};u${at % 9};2024-05-0${1 + (at % 9)};1.5\n`,
      );
      await mkdir(join(folder, 'exports'));
      for (const [part, from] of [0, 150].entries()) {
        const content = `number;kind;customer;at;total\n${rows.slice(from, from + 150).join('')}`;
        await writeFile(join(folder, `exports/${part}.csv`), content);
      }
      await runIn(folder, rules + share.take({ page, heading: 'Run the import' }).join(''), endpoint.url);
      const kept = endpoint.kept as unknown as readonly Sent[];
      expect(kept.map(({ event, distinct_id }) => `${event} ${distinct_id}`).toSorted()).toEqual(
        rows.map((row) => row.split(';').slice(1, 3).join(' ')).toSorted(),
      );
      expect(new Set(kept.map(({ uuid }) => uuid)).size).toBe(rows.length);
    });
  });

  it('Adobe Analytics: a delivery is unpacked to where its import looks', async () => {
    await inFolder(async (folder) => {
      await layExport('adobe-analytics', folder);
      const delivered = `tar -czf suite_2024-05-01-lookup_data.tar.gz -C feed/lookup .
        mv feed/hits/01-shop_2024-01-01.tsv.gz 01-suite_2024-05-01.tsv.gz
        rm -r feed\n`;
      const page = `${guides}/migrate-adobe-analytics.md`;
      await runIn(folder, delivered + share.take({ page, heading: 'Get the export' }).join(''), '');
      expect((await readdir(join(folder, 'feed'), { recursive: true })).toSorted()).toEqual([
        'hits',
        'hits/01-suite_2024-05-01.tsv.gz',
        'lookup',
        'lookup/column_headers.tsv',
        'lookup/event.tsv',
      ]);
    });
  });

  it('SQLite: the copy of a database has what the import asks for', async () => {
    await inFolder(async (folder) => {
      const page = `${guides}/migrate-sqlite.md`;
      const tried = share.take({ page, heading: 'Try it with sample data' }).join('');
      const [made = ''] = /^sqlite3 shop\.db "[^]*?"\n/m.exec(tried) ?? [];
      await runIn(folder, made + share.take({ page, heading: 'Get the export' }).join(''), '');
      using copy = new DatabaseSync(join(folder, 'copy.db'));
      expect(copy.prepare('select id from orders order by id').all()).toEqual([{ id: 17 }, { id: 18 }]);
    });
  });

  it('DuckDB: the engine that the guide installs is the one tested here', async () => {
    const guide = await readFile(join(root, guides, 'migrate-duckdb.md'), 'utf8');
    const tried = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    expect(guide).toContain(`@duckdb/node-api@${tried.devDependencies['@duckdb/node-api']}\n`);
  });

  it('has run all its blocks', () => {
    expect(share.left()).toEqual([]);
  });
});

async function listening(server: Server): Promise<AsyncDisposable> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
