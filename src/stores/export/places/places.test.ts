import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { testAzureServer } from '../../../../test/support/azure-server.ts';
import { testBucketServer } from '../../../../test/support/bucket-server.ts';
import { testGcsServer } from '../../../../test/support/gcs-server.ts';
import { openDirStaging } from '../../../imports/staging/open-staging.ts';
import { parseAllowList } from '../../../plugins/outbound/allow-list.ts';
import { createOutboundStream } from '../../../plugins/outbound/stream.ts';
import type { ExportDestination } from '../../../wire/contract/exports.ts';
import { ExportPlaceError, type ExportPlace } from '../export-place.ts';
import { openPlace } from './open-place.ts';
import { piecesOf } from './pieces.ts';

const stack: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of stack.splice(0).reverse()) await each[Symbol.asyncDispose]();
});
const signal = new AbortController().signal;
const secret = 'c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0';

interface Opened {
  readonly place: ExportPlace;
  contents(): Promise<ReadonlyMap<string, Buffer>>;
  slowDown?(times: number): void;
}

/** A directory, and the three kinds of buckets, as real servers speak. */
const kinds: Readonly<Record<string, (wrongKey?: string) => Promise<Opened>>> = {
  async service() {
    const dir = await mkdtemp(join(tmpdir(), 'export-places-'));
    stack.push({ [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) });
    const staging = await openDirStaging(dir);
    return {
      place: await openAt({ kind: 'service' }, {}, staging),
      contents: async () =>
        new Map(
          await Promise.all(
            (await staging.list('')).map(async ({ key }) => [`p/${key}`, await readFile(join(dir, key))] as const),
          ),
        ),
    };
  },
  async s3(wrongKey) {
    const server = await testBucketServer({ bucket: 'exports', accessKeyId: 'AKID' });
    stack.push(server);
    const where = { bucket: 'exports', prefix: 'p', endpoint: server.endpoint, access_key_id: wrongKey ?? 'AKID' };
    const place = await openAt({ kind: 's3', ...where }, { secret_access_key: secret });
    return { place, contents: async () => server.objects, slowDown: server.slowDown };
  },
  async gcs(wrongKey) {
    const server = await testGcsServer('exports');
    stack.push(server);
    const other = wrongKey === undefined ? server : await testGcsServer('exports');
    if (other !== server) stack.push(other);
    const key = { ...JSON.parse(other.keyFile), token_uri: JSON.parse(server.keyFile).token_uri };
    const where = { bucket: 'exports', prefix: 'p/', endpoint: server.endpoint };
    const place = await openAt({ kind: 'gcs', ...where }, { key_file: JSON.stringify(key) });
    return { place, contents: async () => server.contents(), slowDown: server.slowDown };
  },
  async azure(wrongKey) {
    const server = await testAzureServer({ account: 'acct', container: 'exports', key: secret, sas: '' });
    stack.push(server);
    const where = { account: 'acct', container: 'exports', prefix: 'p', endpoint: server.endpoint };
    const place = await openAt({ kind: 'azure', ...where }, { account_key: wrongKey ?? secret });
    return { place, contents: async () => server.blobs, slowDown: server.slowDown };
  },
};

async function openAt(
  destination: ExportDestination,
  secrets: Readonly<Record<string, string>>,
  storage = undefined as unknown as Awaited<ReturnType<typeof openDirStaging>>,
): Promise<ExportPlace> {
  const stream = createOutboundStream({ allow: parseAllowList('127.0.0.1') });
  stack.push({ [Symbol.asyncDispose]: () => stream.close() });
  const deps = { storage, assertRoom: async () => undefined, stream, now: () => Date.now() };
  return openPlace({ ...deps, resolve: async () => '127.0.0.1' }, { id: 'task', destination, secrets });
}

async function* chunks(...all: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* all;
}

const large = Buffer.alloc(19 * 1024 * 1024, 'ten bytes.');

describe.each(Object.keys(kinds))('the destination %s', (kind) => {
  const open = (...args: Parameters<NonNullable<(typeof kinds)[string]>>): Promise<Opened> =>
    kinds[kind]?.(...args) as Promise<Opened>;

  it.each([
    ['of no bytes', [Buffer.alloc(0)]],
    ['of a few bytes', [Buffer.from('a'), Buffer.from('bc')]],
    ['of several pieces', [large.subarray(0, 9_000_001), large.subarray(9_000_001)]],
  ])('receives a file %s, with its size and checksum', async (_name, content) => {
    const { place, contents } = await open();
    const whole = Buffer.concat(content);
    const sha256 = createHash('sha256').update(whole).digest('hex');
    expect(await place.write('events-00001.csv', chunks(...content), signal)).toEqual({ bytes: whole.length, sha256 });
    expect([...(await contents()).keys()]).toEqual(['p/task/events-00001.csv']);
    expect((await contents()).get('p/task/events-00001.csv')?.equals(whole)).toBe(true);
    await place.write('events-00001.csv', chunks(Buffer.from('again')), signal);
    expect((await contents()).get('p/task/events-00001.csv')?.toString()).toBe('again');
    await place.remove(['events-00001.csv', 'never-written']);
    expect((await contents()).size).toBe(0);
    place.close();
  });

  it('shows nothing of a file whose rows fail, and passes their error on', async () => {
    const { place, contents } = await open();
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield large.subarray(0, 9_000_000);
      throw new RangeError('no more rows');
    };
    await expect(place.write('events-00001.csv', failing(), signal)).rejects.toThrow('no more rows');
    expect((await contents()).size).toBe(0);
    place.close();
  });

  if (kind === 'service') return;

  it('fails permanently with a wrong key, and says so without the key', async () => {
    const wrong = 'd3Jvbmctd3Jvbmctd3Jvbmctd3Jvbmc';
    const { place } = await open(wrong);
    const error = await place.write('a', chunks(Buffer.from('a')), signal).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(ExportPlaceError);
    expect(String(error)).not.toContain(wrong);
    expect(String(error)).not.toContain(secret);
    place.close();
  });

  it('is retried when it is overloaded', async () => {
    const { place, slowDown } = await open();
    slowDown?.(100);
    const error = await place.write('a', chunks(Buffer.from('a')), signal).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(ExportPlaceError);
    place.close();
  });
});

describe('pieces', () => {
  it.each([
    [[], [[0, 0, true]]],
    [[4], [[0, 4, true]]],
    [[5], [[0, 5, true]]],
    [
      [3, 3],
      [
        [0, 5, false],
        [5, 1, true],
      ],
    ],
    [
      [11],
      [
        [0, 5, false],
        [5, 5, false],
        [10, 1, true],
      ],
    ],
    [
      [5, 5, 0],
      [
        [0, 5, false],
        [5, 5, true],
      ],
    ],
  ])('of five bytes from chunks of %j', async (sizes, expected) => {
    const pieces = await Array.fromAsync(piecesOf(chunks(...sizes.map((size) => Buffer.alloc(size, 'x'))), 5));
    expect(pieces.map(({ at, bytes, isLast }) => [at, bytes.length, isLast])).toEqual(expected);
  });
});
