import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { matomoRecords } from '../../imports/formats/matomo/records.fixture.ts';
import { formats } from '../../imports/formats/registry.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { openCommandShell, type CommandShell } from '../../../test/support/command-shell.ts';
import { blocksOf, guidesDir, inFolder, sorted, type Sent } from '../../../test/support/guide-blocks.ts';
import { layExport, toolsWithExport } from './guide-exports.fixture.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const names = (await readdir(guidesDir)).filter((name) => /^migrate-.*\.md$/.test(name));

let shell: CommandShell;
beforeAll(async () => {
  shell = await openCommandShell();
});
afterAll(() => shell[Symbol.asyncDispose]());

/** SQLite's own command, where the machine has none: the engine is the same. */
const sqlite3 = `command -v sqlite3 >/dev/null || sqlite3() {
  "${process.execPath}" -e 'new (require("node:sqlite").DatabaseSync)(process.argv[1]).exec(process.argv[2])' "$@"
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

describe('the guides for those who move from another tool', () => {
  it('there is one per format, and one for tables and for files of any shape, which are mapped', () => {
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

  it.each(names)('%s: its example can be run as written', async (name) => {
    await using endpoint = await startEndpoint(() => 'keep');
    await inFolder(async (folder) => {
      const commands = (await blocksOf(name, 'Try it with made-up records')).join('\n');
      expect(commands).toContain('npx millrace import ');
      expect(await runIn(folder, commands, endpoint.url)).toContain('check passed');
      expect(endpoint.kept.length).toBeGreaterThan(1);
      expect(await readFile(join(folder, 'report.html'), 'utf8')).toContain('<html');
    });
  });

  it.each(toolsWithExport)(
    '%s: the import, run as written on a generated export, sends each of its events once',
    async (tool) => {
      await using endpoint = await startEndpoint(() => 'keep');
      await inFolder(async (folder) => {
        const expected = await layExport(tool, folder);
        const [commands = ''] = await blocksOf(`migrate-${tool}.md`, 'Bring it in');
        await runIn(folder, commands, endpoint.url);
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
  ])('%s: the table of a warehouse is imported as written', async (tool, heading, expected) => {
    await using endpoint = await startEndpoint(() => 'keep');
    await inFolder(async (folder) => {
      const [commands = ''] = await blocksOf(`migrate-${tool}.md`, heading);
      await runIn(folder, commands, endpoint.url);
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
      const [commands = ''] = await blocksOf('migrate-matomo.md', 'Get the export');
      const { port } = matomo.address() as AddressInfo;
      await runIn(folder, commands.replace('https://matomo.example', `http://127.0.0.1:${port}`), '');
      expect(asked).toEqual([0, 1000, 2000, 3000].map((from) => `Live.getLastVisitsDetails ${from} token_auth=abc`));
      const files = (await readdir(join(folder, 'exports'))).toSorted();
      const read = async (file: string) =>
        JSON.parse(await readFile(join(folder, 'exports', file), 'utf8')) as unknown[];
      expect((await Promise.all(files.map(read))).flat()).toEqual(visits);
    });
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
