/**
 * What differs between sources and build: packages that are bundled. Real: the built program as a process, every packing of files, archives
 * over HTTP. Doubled: the web server that the archives come from.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { builtinModules, createRequire } from 'node:module';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type * as Avsc from 'avsc';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeTar, makeTgz, makeZip, members } from '../support/archives.ts';
import { apiSend } from '../support/import-runs.ts';
import { packBzip2 } from '../support/pack-bzip2.ts';
import { packXz } from '../support/pack-xz.ts';
import { startPackageServer, type PackageServer } from '../support/package-server.ts';
import { apiGet, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const plugins = '/api/projects/@current/plugins/';

let server: TestServer;
let web: PackageServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;

beforeAll(async () => {
  dataDir = await tempDataDir();
  web = await startPackageServer();
  server = await startServer(dataDir.path, { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });
});
afterAll(async () => {
  await server.terminate();
  await web[Symbol.asyncDispose]();
  await dataDir[Symbol.asyncDispose]();
});

/** As a repository's archive: everything lies in a folder named after the revision. */
function repository(name: string) {
  return members({
    [`${name}-1a2b3c/plugin.json`]: JSON.stringify({ name, main: 'index.js' }),
    [`${name}-1a2b3c/index.js`]: 'export const processEvent = (event) => event;',
  });
}

const ids = ['user-1', 'user-2', 'user-3'];
const lines = Buffer.from(ids.map((id) => `${JSON.stringify({ event: 'read', id })}\n`).join(''));

/** The same records, packed by what the program unpacks with a package or with WebAssembly. */
const files: Readonly<Record<string, Uint8Array>> = {
  gzip: gzipSync(lines),
  zstd: zstdCompressSync(lines),
  xz: packXz(lines),
  bzip2: packBzip2(lines),
  zip: makeZip([{ path: 'a', content: lines }]),
  'tar in gzip': gzipSync(makeTar([{ path: 'a', content: lines }])),
  CSV: Buffer.from(`event,id\n${ids.map((id) => `read,${id}\n`).join('')}`),
  Parquet: parquetFile(),
  'Avro with deflate': await avroFile('deflate'),
};

function parquetFile(): Uint8Array {
  const column = (name: string, data: string[]) => ({ name, data, type: 'STRING' as const });
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        column(
          'event',
          ids.map(() => 'read'),
        ),
        column('id', ids),
      ],
    }),
  );
}

async function avroFile(codec: string): Promise<Uint8Array> {
  const { Type, streams } = createRequire(import.meta.url)('avsc') as typeof Avsc;
  const fields = ['event', 'id'].map((name) => ({ name, type: 'string' as const }));
  const encoder = new streams.BlockEncoder(Type.forSchema({ type: 'record', name: 'Read', fields }), { codec });
  for (const id of ids) encoder.write({ event: 'read', id });
  encoder.end();
  return await buffer(encoder);
}

describe('the built program', () => {
  it.each([
    ['.zip', '/owner/zipped/archive/HEAD.zip', 'zipped', makeZip],
    ['.tgz', '/owner/tarred/archive/HEAD.tar.gz', 'tarred', makeTgz],
  ])('installs a plugin from the %s of a repository', async (_kind, path, name, pack) => {
    web.answers.set(path, { body: pack(repository(name)) });
    const made = await apiSend(server, 'POST', plugins, { url: web.url + path });
    expect(made).toMatchObject({ name, families: ['transformation'] });
  });

  it.each(Object.entries(files))('reads records of a file that is %s', async (form, content) => {
    const folder = join(dataDir.path, 'import-files');
    await mkdir(folder, { recursive: true });
    const file = join(folder, form.replaceAll(' ', '-'));
    await writeFile(file, content);
    const { results } = await apiGet<{ results: { id: number; name: string }[] }>(server, `${plugins}?limit=100`);
    const mapping = { event: 'event', distinct_id: 'id', timestamp: { constant: '2024-05-01T00:00:00Z' } };
    const preview = await apiSend<{ results: { events: { event: { distinct_id: string } }[] }[] }>(
      server,
      'POST',
      '/api/projects/@current/import_preview',
      {
        plugin: results.find((plugin) => plugin.name === 'Files')?.id,
        settings: {
          paths: file,
          format: 'mapping',
          format_options: JSON.stringify({ mapping: JSON.stringify(mapping) }),
        },
      },
    );
    const read = preview.results.flatMap(({ events }) => events.map(({ event }) => event.distinct_id));
    expect(read).toEqual(ids);
  });

  it('a lazily imported package has the same names as under Node', async () => {
    const built = await readdir(join(root, 'dist'));
    const different: string[] = [];
    const bundled: string[] = [];
    for (const name of await lazyPackages()) {
      const file = built.find((each) => new RegExp(`^${name.split('/').at(-1)}-[A-Z0-9]{8}\\.js$`).test(each));
      // A package that is not bundled is imported from where it is installed, as from the sources.
      if (file === undefined) continue;
      bundled.push(name);
      const real = namesOf(await import(name));
      const got = namesOf(await import(pathToFileURL(join(root, 'dist', file)).href));
      if (got.join() !== real.join()) different.push(`${name}: ${got.join(' ')} instead of ${real.join(' ')}`);
    }
    expect(different).toEqual([]);
    expect(bundled).toEqual(expect.arrayContaining(['hyparquet', 'pg', 'semver', 'tar', 'yauzl']));
  });
});

function namesOf(module: object): string[] {
  return Object.keys(module)
    .filter((name) => /^[$\w]+$/.test(name))
    .toSorted();
}

/** Packages that the sources import when they are needed. */
async function lazyPackages(): Promise<Set<string>> {
  const found = new Set<string>();
  for (const path of await readdir(join(root, 'src'), { recursive: true })) {
    if (!path.endsWith('.ts') || path.endsWith('.test.ts')) continue;
    const text = await readFile(join(root, 'src', path), 'utf8');
    for (const [, name = ''] of text.matchAll(/\bimport\('([@a-z][^':]*)'\)/g)) found.add(name);
  }
  for (const name of builtinModules) found.delete(name);
  return found;
}
