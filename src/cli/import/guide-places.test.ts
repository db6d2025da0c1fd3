/**
 * Real: the commands of the guides as they stand there, the shell, the import. Doubled: the buckets, ClickHouse's HTTP
 * interface (its engine is real), the target. Only addresses and keys are replaced. The format's reader is the oracle.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { findFormat } from '../../imports/formats/registry.ts';
import type { Format } from '../../imports/formats/format.ts';
import { mixpanelRecords } from '../../imports/formats/mixpanel/records.fixture.ts';
import { testAzureServer } from '../../../test/support/azure-server.ts';
import { testBucketServer } from '../../../test/support/bucket-server.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { testClickhouseServer } from '../../../test/support/clickhouse-server.ts';
import { openCommandShell, type CommandShell } from '../../../test/support/command-shell.ts';
import { testGcsServer } from '../../../test/support/gcs-server.ts';
import { inFolder, sorted, type Sent } from '../../../test/support/guide-import.ts';
import { readBlocks } from '../../../test/support/page-blocks.ts';
import { shareOf } from '../../../test/support/page-commands.ts';
import { layExport, storedOf } from '../../../test/support/guide-exports.ts';

const share = shareOf(import.meta.url);
const buckets = { page: 'docs/guides/migrate-buckets.md', heading: 'Run the import' };
let shell: CommandShell;
beforeAll(async () => {
  shell = await openCommandShell();
});
afterAll(() => shell[Symbol.asyncDispose]());
afterEach(() => vi.unstubAllEnvs());

const records = [...mixpanelRecords(11, 240)];
/** Three objects of an export below the prefix of the guides' commands, and one outside of it. */
const objects = new Map([
  ...[0, 80, 160].map((from) => [`mixpanel/${from}.json.gz`, packed(records.slice(from, from + 80))] as const),
  ['other/0.json.gz', packed([...mixpanelRecords(12, 10)])] as const,
]);

function packed(lines: readonly unknown[]): Buffer {
  return gzipSync(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

function formatNamed(slug: string): Format {
  const format = findFormat(slug);
  if (format === undefined) throw new Error(`expected the format ${slug}, got none`);
  return format;
}

const exported = sorted(storedOf(formatNamed('mixpanel'), { records }));

type Replaced = readonly (readonly [from: string, to: string])[];

/** What the target got from the commands; each of the replaced texts has to be in them. */
async function runIn(folder: string, commands: string, replaced: Replaced): Promise<readonly Sent[]> {
  await using endpoint = await startEndpoint(() => 'keep');
  const all = [...replaced, ['http://127.0.0.1:8000', endpoint.url], ['<project key>', 'phc_test']] as const;
  const script = all.reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replaceAll(from, to);
  }, commands);
  await shell.run(script, folder);
  return endpoint.kept as unknown as readonly Sent[];
}

/** What came of the block of the guide of buckets that reads the place, run with the files beside it. */
async function importOf(place: string, endpoint: string, files: Record<string, string>, more: Replaced = []) {
  const own = share.take({ ...buckets, holds: place });
  return inFolder(async (folder) => {
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    return sorted(await runIn(folder, own.join(''), [[place, `${place} --setting endpoint=${endpoint}`], ...more]));
  });
}

describe('the commands of the guides that read a place, run as written', () => {
  it('the guide of buckets has a command for each kind, and no other', () => {
    expect(exported.length).toBeGreaterThan(200);
    const blocks = share.take(buckets);
    expect(blocks.map((block) => /(\w+):\/\/my/.exec(block)?.[1])).toEqual(['s3', 'gs', 'azure']);
  });

  it('Amazon S3, with keys: each event of the objects below the prefix arrives once', async () => {
    await using server = await testBucketServer({ bucket: 'my-exports', accessKeyId: 'AKIDEXAMPLE' });
    for (const [key, content] of objects) server.objects.set(key, content);
    expect(
      await importOf('s3://my-exports/mixpanel/', server.endpoint, { 'secret.txt': 'secret-of-the-key\n' }),
    ).toEqual(exported);
  });

  it('Google Cloud Storage, as the logged-in user: each event arrives once', async () => {
    await using server = await testGcsServer('my-exports');
    for (const [name, content] of objects) server.put(name, content);
    await inFolder(async (home) => {
      await writeFile(join(home, 'application_default_credentials.json'), server.loginFile);
      vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', undefined);
      vi.stubEnv('CLOUDSDK_CONFIG', home);
      expect(await importOf('gs://my-exports/mixpanel/', server.endpoint, {})).toEqual(exported);
    });
  });

  it('Google Cloud Storage, with a key file: each event arrives once', async () => {
    await using server = await testGcsServer('my-exports');
    for (const [name, content] of objects) server.put(name, content);
    const setting: Replaced = [[' --to ', ' --setting key_file=@key.json --to ']];
    expect(
      await importOf('gs://my-exports/mixpanel/', server.endpoint, { 'key.json': server.keyFile }, setting),
    ).toEqual(exported);
  });

  it.each([
    ['a SAS token', []],
    ['the key of the account', [['--setting sas_token=@sas.txt', '--setting account_key=@key.txt']] as const],
  ])('Azure Blob Storage, with %s: each event arrives once', async (_, setting) => {
    const key = Buffer.from('key of the account').toString('base64');
    const sas = 'sv=2024-11-04&sp=rl&sig=abc%3D';
    await using server = await testAzureServer({ account: 'myexports', container: 'events', key, sas });
    for (const [name, content] of objects) server.blobs.set(name, content);
    const files = { 'sas.txt': `${sas}\n`, 'key.txt': `${key}\n` };
    expect(await importOf('azure://myexports/events/mixpanel/', server.endpoint, files, setting)).toEqual(exported);
  });

  it('ClickHouse, with the rules of its example: each row of the table arrives once', async () => {
    await using server = await testClickhouseServer('importer', 'password-of-importer');
    await server.run('create database shop');
    await server.run(`create table shop.orders (at DateTime64(3, 'UTC'), id UInt64, kind String, customer String,
      total Float64) engine = MergeTree order by at`);
    await server.run(`insert into shop.orders select toDateTime64('2024-05-01 10:00:00', 3, 'UTC') + number * 600, number,
      if(number % 3 = 0, 'Order Cancelled', 'Order Done'), concat('u', toString(number % 7)), number + 0.5 from numbers(500)`);
    const rows = Array.from({ length: 500 }, (_, id) => ({
      id,
      kind: id % 3 === 0 ? 'Order Cancelled' : 'Order Done',
      customer: `u${id % 7}`,
      at: new Date(Date.UTC(2024, 4, 1, 10, 10 * id)).toISOString(),
      total: id + 0.5,
    }));
    const page = 'docs/guides/migrate-clickhouse.md';
    const tried = readBlocks(page)
      .map(({ text }) => text)
      .join('');
    const [written = '', mapping = ''] = /^cat > rules\.json <<'END'\n([^]*?)^END\n/m.exec(tried) ?? [];
    const blocks = share.take({ page, heading: 'Run the import' });
    expect(blocks).toHaveLength(1);
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'password.txt'), 'password-of-importer\n');
      const address = ['https://clickhouse.internal:8443', server.url] as const;
      const kept = await runIn(folder, written + blocks.join(''), [address]);
      expect(new Set(kept.map(({ properties }) => properties['total'])).size).toBe(rows.length);
      expect(sorted(kept)).toEqual(sorted(storedOf(formatNamed('mapping'), { records: rows, options: { mapping } })));
    });
  });

  it.each([
    ['mparticle', 's3://mp-forwarding-example/'],
    ['posthog', 's3://my-exports/events/'],
    ['segment', 's3://my-archive/segment-logs/'],
    ['snowplow', 's3://my-archive/enriched/good/'],
  ])('%s: the bucket of its guide is read, and each event arrives once', async (slug, place) => {
    const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/(.*)$/.exec(place) ?? [];
    await using server = await testBucketServer({ bucket, accessKeyId: 'AKIDEXAMPLE' });
    await inFolder(async (folder) => {
      const expected = await layExport(slug, folder);
      const files = await readdir(folder, { recursive: true, withFileTypes: true });
      for (const file of files.filter((each) => each.isFile())) {
        server.objects.set(`${prefix}${file.name}`, await readFile(join(file.parentPath, file.name)));
      }
      await writeFile(join(folder, 'secret.txt'), 'secret-of-the-key\n');
      const [block = ''] = share.take({ page: new RegExp(`/migrate-${slug}[.-]`), holds: place });
      const replaced: Replaced = [
        [place, `${place} --setting endpoint=${server.endpoint}`],
        ['<key id>', 'AKIDEXAMPLE'],
      ];
      expect(sorted(await runIn(folder, block, replaced))).toEqual(sorted(expected));
    });
  });

  it('has run all its blocks', () => {
    expect(share.left()).toEqual([]);
  });
});
