import { generateKeyPairSync } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Source, SourceHost } from '../source.ts';
import { createOutboundStream } from '../../plugins/outbound/stream.ts';
import { parseAllowList } from '../../plugins/outbound/allow-list.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { testGcsServer, type TestGcsServer } from '../../../test/support/gcs-server.ts';
import { gcs } from './gcs.ts';
import { readPart, readSource, sleep, testSourceHost } from './source-host.fixture.ts';

let server: TestGcsServer;
beforeEach(async () => {
  server = await testGcsServer('exports');
});
afterEach(() => server[Symbol.asyncDispose]());

function open(settings: SettingValues = {}, host: Partial<SourceHost> = {}): Source {
  const given = { bucket: 'exports', endpoint: server.endpoint, credentials: 'key file', key_file: server.keyFile };
  return gcs.createSource({ ...given, ...settings }, testSourceHost(host));
}

const context = { signal: new AbortController().signal, sleep };

async function failure(source: Source): Promise<unknown> {
  return await readSource(source, {}).catch((error: unknown) => error);
}

describe('objects of a bucket of Google Cloud Storage', () => {
  it('are read in the order of their names, if they match prefix and suffix, with one token', async () => {
    server.put('2024/b c.json', '[{"b":1},\n{"b":2}]');
    server.put('2024/a.json', gzipSync('{"a":1}\n'));
    server.put('2024/d.json', '');
    server.put('2024/readme.txt', 'no');
    server.put('2023/x.json', 'no');
    expect(await readSource(open({ prefix: '2024/', suffix: '.json' }), {})).toEqual(
      new Map([
        ['2024/a.json', ['{"a":1}']],
        ['2024/b c.json', ['{"b":1}', '{"b":2}']],
      ]),
    );
    expect(server.seen.filter((each) => each.includes('/token'))).toHaveLength(1);
  });

  it('an interrupted download resumes at its byte, and every record is read once', async () => {
    const lines = Array.from({ length: 20_000 }, (_, a) => `{"a":${a}}`);
    server.put('a', lines.join('\n'));
    server.breakAfter(50_000, 3);
    expect([...(await readSource(open(), {})).values()]).toEqual([lines]);
    expect(server.seen.filter((each) => each.includes('bytes='))).toHaveLength(3);
  });

  it('an object that was overwritten is not read as the listed one, even after an interruption', async () => {
    server.put('a', '{"a":1}\n');
    const source = open();
    const [part] = await source.listParts({}, context);
    expect(part).toMatchObject({ key: 'a', bytes: 8, stable: true, identity: expect.stringMatching(/^\d+$/) });
    server.put('a', '{"a":2}\n');
    await expect(readPart(source, part ?? { key: '', stable: false })).rejects.toMatchObject({
      name: 'SourceChangedError',
    });
  });

  it('a request to a service that is briefly unavailable is retried', async () => {
    server.put('a', '{"a":1}\n');
    server.slowDown(3);
    expect(await readSource(open(), {})).toHaveProperty('size', 1);
  });
});

describe('what cannot be read', () => {
  it('a missing bucket and a prefix without objects are distinguished', async () => {
    expect(await failure(open({ bucket: 'elsewhere' }))).toMatchObject({
      name: 'SourceError',
      message: 'expected the bucket elsewhere, but it does not exist',
    });
    expect(String(await failure(open()))).toContain('found none');
  });

  it('a key unknown to the service is rejected, and no part of it is shown', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const file = { ...(JSON.parse(server.keyFile) as object), private_key: key };
    const error = await failure(open({ key_file: JSON.stringify(file) }));
    expect(error).toMatchObject({ name: 'SourceError', message: expect.stringContaining('invalid_grant') });
    expect(String(error)).not.toContain(key.slice(40, 80));
    expect(String(await failure(open({ credentials: 'none' })))).toContain('401');
  });

  it.each([
    [{ bucket: 'gs://exports' }],
    [{ key_file: '{"type":"authorized_user"}' }],
    [{ key_file: '{"type":"external_account","credential_source":{"executable":{"command":"id"}}}' }],
    [{ endpoint: 'storage.example.com' }],
  ])('%j is rejected before any request', (settings) => {
    expect(() => open(settings)).toThrow(SettingsError);
    expect(server.seen).toEqual([]);
  });

  it("the machine's own credentials are rejected unless permitted", async () => {
    const error = await failure(open({ credentials: 'machine' }));
    expect(error).toMatchObject({ name: 'SourceError', message: expect.stringContaining('must not be used') });
    expect(server.seen).toEqual([]);
  });

  it("the machine's own credentials are sent to Google only", () => {
    expect(() => open({ credentials: 'machine' }, { machineCredentials: true })).toThrow('"endpoint": expected none');
    expect(server.seen).toEqual([]);
  });

  it('no request is sent to the storage or to the token address unless it is permitted', async () => {
    const stream = createOutboundStream({ allow: parseAllowList(''), connectTimeoutMs: 1000, idleMs: 1000 });
    expect(await failure(open({}, { stream }))).toMatchObject({ name: 'SourceError' });
    expect(server.seen).toEqual([]);
    await stream.close();
  });
});
