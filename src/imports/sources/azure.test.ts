import { ContainerClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Source, SourceHost } from '../source.ts';
import { createOutboundStream } from '../../plugins/outbound/stream.ts';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { testAzureServer, type TestAzureServer } from '../../../test/support/azure-server.ts';
import { azure } from './azure.ts';
import { readPart, readSource, sleep, testSourceHost } from './source-host.fixture.ts';

const key = Buffer.from('a key that must stay secret, of any length').toString('base64');
const sas = 'sv=2021-12-02&sp=rl&sig=not%2Bto%2Bbe%2Bseen';
let server: TestAzureServer;
beforeEach(async () => {
  server = await testAzureServer({ account: 'myexports', container: 'events', key, sas });
});
afterEach(() => server[Symbol.asyncDispose]());

function open(settings: SettingValues = {}, host: Partial<SourceHost> = {}): Source {
  const given = { account: 'myexports', container: 'events', endpoint: server.endpoint, account_key: key };
  return azure.createSource({ ...given, ...settings }, testSourceHost(host));
}

const context = { signal: new AbortController().signal, sleep };

async function failure(source: Source): Promise<unknown> {
  return await readSource(source, {}).catch((error: unknown) => error);
}

describe('blobs of a container', () => {
  it.each([
    ['an account key', { account_key: key }],
    ['a SAS token', { account_key: '', sas_token: `?${sas}` }],
  ])('are read in the order of their names with %s, if they match prefix and suffix', async (_name, settings) => {
    server.blobs.set('a b/2&3.json', Buffer.from('[{"b":1},\n{"b":2}]'));
    server.blobs.set('a b/1.json', gzipSync('{"a":1}\n'));
    server.blobs.set('a b/ü.json', Buffer.from('{"u":1}'));
    server.blobs.set('a b/readme.txt', Buffer.from('no'));
    server.blobs.set('other.json', Buffer.from('no'));
    expect(await readSource(open({ ...settings, prefix: 'a b/', suffix: '.json' }), {})).toEqual(
      new Map([
        ['a b/1.json', ['{"a":1}']],
        ['a b/2&3.json', ['{"b":1}', '{"b":2}']],
        ['a b/ü.json', ['{"u":1}']],
      ]),
    );
  });

  it("the fake server accepts the signature of the vendor's own client", async () => {
    server.blobs.set('a', Buffer.from('x'));
    const credential = new StorageSharedKeyCredential('myexports', key);
    const client = new ContainerClient(`${server.endpoint}/events`, credential);
    const names = await Array.fromAsync(client.listBlobsFlat({ prefix: 'a' }), ({ name }) => name);
    expect(names).toEqual(['a']);
  });

  it('an interrupted download resumes at its byte, and every record of the blob is read once', async () => {
    const lines = Array.from({ length: 20_000 }, (_, a) => `{"a":${a}}`);
    server.blobs.set('a', Buffer.from(lines.join('\n')));
    server.breakAfter(50_000, 3);
    expect([...(await readSource(open(), {})).values()]).toEqual([lines]);
    expect(server.seen.filter((each) => /bytes=[1-9]/.test(each))).toHaveLength(3);
  });

  it('a blob that was overwritten is not read as the listed one', async () => {
    server.blobs.set('a', Buffer.from('{"a":1}\n'));
    const source = open();
    const [part] = await source.listParts({}, context);
    server.blobs.set('a', Buffer.from('{"a":2}\n'));
    await expect(readPart(source, part ?? { key: '', stable: false })).rejects.toMatchObject({
      name: 'SourceChangedError',
    });
  });

  it('a request to a busy service is retried', async () => {
    server.blobs.set('a', Buffer.from('{"a":1}\n'));
    server.slowDown(3);
    expect(await open().listParts({}, context)).toHaveLength(1);
  });
});

describe('what cannot be read', () => {
  it('a missing container and wrong credentials are distinguished, without secrets', async () => {
    expect(await failure(open({ container: 'elsewhere' }))).toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining('expected the container elsewhere'),
    });
    const wrong = await failure(open({ account_key: Buffer.from('another key, as long as that').toString('base64') }));
    expect(wrong).toMatchObject({ name: 'SourceError', message: expect.stringContaining('403') });
    const token = await failure(open({ account_key: '', sas_token: `${sas}x` }));
    expect(token).toMatchObject({ name: 'SourceError' });
    expect(String(token)).not.toMatch(/not.to.be.seen|not%2B/);
  });

  it.each([
    [{ account: 'https://myexports' }],
    [{ container: 'events/2024' }],
    [{ sas_token: sas }],
    [{ account_key: 'x y' }],
    [{ account_key: '', sas_token: 'sv=1' }],
    [{ endpoint: 'blob.example.com' }],
  ])('%j is rejected before any request', (settings) => {
    expect(() => open(settings)).toThrow(SettingsError);
  });

  it('no request is sent to an address that is not permitted', async () => {
    const stream = createOutboundStream({ allow: parseAllowList(''), connectTimeoutMs: 1000, idleMs: 1000 });
    expect(await failure(open({}, { stream }))).toMatchObject({ name: 'SourceError' });
    expect(server.seen).toEqual([]);
    await stream.close();
  });
});
