import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SourceError, type Source, type SourceHost } from '../source.ts';
import { OutboundError } from '../../plugins/outbound/outbound.ts';
import { makeZip } from '../../../test/support/archives.ts';
import { testBucketServer, type TestBucketServer } from '../../../test/support/bucket-server.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { s3 } from './s3.ts';
import { readPart, readSource, resolveBy, testSourceHost } from './source-host.fixture.ts';

const context = { signal: new AbortController().signal };
let server: TestBucketServer;
let tempDir = '';

beforeEach(async () => {
  tempDir = await mkdtemp(join(tmpdir(), 'millrace-s3-'));
  server = await testBucketServer({ bucket: 'exports', accessKeyId: 'AKIDEXAMPLE', pageSize: 2 });
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(tempDir, { recursive: true, force: true });
});

function open(settings: SettingValues = {}, host: Partial<SourceHost> = {}): Source {
  const keys = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'secret' };
  const given = { bucket: 'exports', endpoint: server.endpoint, ...keys, ...settings };
  return s3.createSource(given, testSourceHost({ tempDir, ...host }));
}

describe('objects of a bucket', () => {
  it('are read in the order of their keys, whatever they are, if they match prefix and suffix', async () => {
    server.objects.set('2024/b.json', Buffer.from('[{"b":1},\n{"b":2}]'));
    server.objects.set('2024/a.json', gzipSync('{"a":1}\n'));
    server.objects.set('2024/c.json', makeZip([{ path: 'c.csv', content: 'id\n3\n' }]));
    server.objects.set('2024/empty.json', Buffer.alloc(0));
    server.objects.set('2024/readme.txt', Buffer.from('no'));
    server.objects.set('2023/x.json', Buffer.from('no'));
    expect(await readSource(open({ prefix: '2024/', suffix: '.json' }), {})).toEqual(
      new Map([
        ['2024/a.json', ['{"a":1}']],
        ['2024/b.json', ['{"b":1}', '{"b":2}']],
        ['2024/c.json', ['{"id":"3"}']],
      ]),
    );
  });

  it('show whether they have changed since they were listed', async () => {
    server.objects.set('a', Buffer.from('{"a":1}\n'));
    const source = open();
    const [part] = await source.listParts({}, context);
    expect(part).toMatchObject({
      key: 'a',
      bytes: 8,
      stable: true,
      identity: expect.stringMatching(/^"[0-9a-f]{32}"$/),
    });
    server.objects.set('a', Buffer.from('{"a":2}\n'));
    if (part === undefined) throw new Error('expected a part');
    await expect(readPart(source, part)).rejects.toThrow(SourceError);
  });

  it('errors tell whether a retry can help', async () => {
    const failure = async (source: Source): Promise<unknown> =>
      await source.listParts({}, context).catch((error: unknown) => error);
    expect(await failure(open())).toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining('found none'),
    });
    expect(await failure(open({ bucket: 'other' }))).toMatchObject({ name: 'SourceError' });
    const refused = await failure(open({ access_key_id: 'AKIDOTHER', secret_access_key: 'not-to-be-seen' }));
    expect(refused).toMatchObject({ name: 'SourceError', message: expect.stringContaining('refused') });
    expect(String(refused)).not.toContain('not-to-be-seen');
    server.slowDown(5);
    expect(await failure(open())).toMatchObject({ name: 'SourceWaitError', unlimited: true });
  });

  it('an endpoint that is not permitted is rejected before any request', async () => {
    const resolve = async (): Promise<string> => {
      throw new OutboundError('address', 'that address may not be reached');
    };
    await expect(open({}, { resolve }).listParts({}, context)).rejects.toThrow('that address may not be reached');
    expect(server.seen).toEqual([]);
  });
});

describe('credentials other than keys', () => {
  const arn = 'arn:aws:iam::123456789012:role/exports';
  afterEach(() => vi.unstubAllEnvs());

  it('a role is assumed with the keys and the external id that it requires', async () => {
    await using other = await testBucketServer({
      bucket: 'exports',
      accessKeyId: 'AKIDEXAMPLE',
      role: { arn, externalId: 'ours' },
    });
    other.objects.set('a', Buffer.from('{"a":1}\n'));
    const role = { endpoint: other.endpoint, role_arn: arn, external_id: 'ours' };
    expect(await readSource(open(role), {})).toEqual(new Map([['a', ['{"a":1}']]]));
    const wrong = open({ ...role, external_id: 'theirs' });
    await expect(wrong.listParts({}, context)).rejects.toMatchObject({ name: 'SourceError' });
  });

  it("a profile is read from the machine's files, where that is permitted", async () => {
    const file = join(tempDir, 'credentials');
    await writeFile(file, '[importer]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = secret\n');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', file);
    server.objects.set('a', Buffer.from('{"a":1}\n'));
    const machine = { access_key_id: '', secret_access_key: '', credentials: 'machine', profile: 'importer' };
    expect(await open(machine, { machineCredentials: true }).listParts({}, context)).toHaveLength(1);
    const none = open({ ...machine, profile: 'unknown' }, { machineCredentials: true });
    await expect(none.listParts({}, context)).rejects.toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining('this machine has no credentials'),
    });
  });

  it("the machine's credentials are rejected unless permitted, and nothing is requested", async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    server.objects.set('a', Buffer.from('{"a":1}\n'));
    const source = open({ access_key_id: '', secret_access_key: '', credentials: 'machine' });
    await expect(source.listParts({}, context)).rejects.toThrow('MILLRACE_IMPORT_MACHINE_CREDENTIALS');
    expect(server.seen).toEqual([]);
  });
});

describe('the port of an endpoint', () => {
  it('must be permitted by an operator; another port is rejected with the setting that permits it', async () => {
    server.objects.set('a', Buffer.from('{"a":1}\n'));
    const { port, host } = new URL(server.endpoint);
    for (const endpoint of [server.endpoint, server.endpoint.replace('127.0.0.1', 'localhost')]) {
      const permitted = open({ endpoint }, { resolve: resolveBy(`127.0.0.1:${port}`) });
      expect(await permitted.listParts({}, context)).toHaveLength(1);
    }
    const refused = open({}, { resolve: resolveBy(`127.0.0.1:${Number(port) + 1}`) });
    await expect(refused.listParts({}, context)).rejects.toThrow(`an operator adds ${host} to MILLRACE_OUTBOUND_ALLOW`);
  });

  it.each([
    ['https://127.0.0.1', '127.0.0.1:443'],
    ['http://127.0.0.1', '127.0.0.1:80'],
  ])('%s without one has the default: %s', async (endpoint, advice) => {
    await expect(open({ endpoint }, { resolve: resolveBy('') }).listParts({}, context)).rejects.toThrow(
      `an operator adds ${advice} to MILLRACE_OUTBOUND_ALLOW`,
    );
  });
});

describe('settings', () => {
  it.each([
    [{ bucket: 's3://exports' }],
    [{ bucket: 'a/b' }],
    [{ region: 'eu central' }],
    [{ secret_access_key: '' }],
    [{ role_arn: 'exports' }],
    [{ role_arn: 'arn:aws:iam::1:role/a', access_key_id: '', secret_access_key: '' }],
    [{ credentials: 'machine' }],
    [{ endpoint: 'storage.example.com' }],
    [{ endpoint: 'https://user:key@storage.example.com' }],
  ])('%j is rejected', (settings) => {
    expect(() => open(settings)).toThrow(SettingsError);
  });
});
