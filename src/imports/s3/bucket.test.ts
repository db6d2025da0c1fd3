import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { connectBucket, type Bucket, type BucketSettings } from './bucket.ts';
import {
  testBucketServer,
  type TestBucketOptions,
  type TestBucketServer,
} from '../../../test/support/bucket-server.ts';

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'not-to-be-seen' };
const undo: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const each of undo.splice(0)) await each();
});

async function start(
  options: Partial<TestBucketOptions> = {},
  settings: Partial<BucketSettings> = {},
): Promise<{ server: TestBucketServer; bucket: Bucket }> {
  const server = await testBucketServer({ bucket: 'events', accessKeyId: keys.accessKeyId, ...options });
  const place = { bucket: 'events', region: 'eu-central-1', endpoint: server.endpoint };
  const bucket = await connectBucket({ ...place, credentials: keys, ...settings });
  undo.push(async () => {
    bucket.close();
    await server[Symbol.asyncDispose]();
  });
  return { server, bucket };
}

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(chunks));
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => 'no error',
    (error: unknown) => error,
  );
}

describe('a bucket', () => {
  it('is listed page by page, with everything that shows whether an object has changed', async () => {
    const { server, bucket } = await start({ pageSize: 3 });
    for (let index = 0; index < 8; index += 1) server.objects.set(`2024/a & ${index}.json`, Buffer.alloc(index));
    server.objects.set('other', Buffer.from('x'));
    const pages = await Array.fromAsync(bucket.list('2024/'));
    expect(pages.map((page) => page.length)).toEqual([3, 3, 2]);
    expect(pages.flat()[5]).toMatchObject({
      key: '2024/a & 5.json',
      bytes: 5,
      modifiedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    });
    expect(pages.flat()[5]?.etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(await Array.fromAsync(bucket.list('nothing'))).toEqual([[]]);
  });

  it('large objects are written in parts and are there when they are complete', async () => {
    const { server, bucket } = await start();
    const content = randomBytes(20 * 1024 * 1024);
    const seen: boolean[] = [];
    async function* chunks(): AsyncGenerator<Buffer> {
      for (let from = 0; from < content.length; from += 1024 * 1024) {
        seen.push(server.objects.has('big'));
        yield content.subarray(from, from + 1024 * 1024);
      }
    }
    expect(await bucket.write('big', chunks())).toMatchObject({ bytes: content.length });
    expect(seen).not.toContain(true);
    expect(server.seen.filter((each) => each.includes('partNumber=')).length).toBe(3);
    expect(server.objects.get('big')?.equals(content)).toBe(true);
    expect((await bytesOf(bucket.read('big'))).equals(content)).toBe(true);
  });

  it('parts of a failed write are discarded', async () => {
    const { server, bucket } = await start();
    async function* broken(): AsyncGenerator<Buffer> {
      yield randomBytes(10 * 1024 * 1024);
      throw new Error('the disk broke');
    }
    await expect(bucket.write('big', broken())).rejects.toThrow('the disk broke');
    expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  });

  it('an interrupted read resumes where it stopped', async () => {
    const { server, bucket } = await start();
    const content = randomBytes(500_000);
    server.objects.set('a', content);
    server.breakAfter(100_000, 3);
    expect((await bytesOf(bucket.read('a'))).equals(content)).toBe(true);
    expect(
      (await bytesOf(bucket.read('a', { range: { start: 10, end: 400_000 } }))).equals(content.subarray(10, 400_000)),
    ).toBe(true);
  });

  it('an interrupted read does not continue with another object of the same name', async () => {
    const { server, bucket } = await start();
    server.objects.set('a', randomBytes(500_000));
    server.breakAfter(100_000, 1);
    const reading = (async () => {
      for await (const _chunk of bucket.read('a')) server.objects.set('a', randomBytes(500_000));
    })();
    expect(await failure(reading)).toMatchObject({ name: 'BucketError', kind: 'changed' });
  });

  it('a server that requests slowness gets it, and eventually an error to wait for', async () => {
    const { server, bucket } = await start({}, { attempts: 3 });
    server.objects.set('a', Buffer.from('x'));
    server.slowDown(2);
    expect((await bytesOf(bucket.read('a'))).toString()).toBe('x');
    server.slowDown(3);
    expect(await failure(bytesOf(bucket.read('a')))).toMatchObject({
      kind: 'wait',
      message: expect.stringContaining('503'),
    });
  });

  it('without keys nothing is signed, whatever the environment holds', async () => {
    const { server, bucket } = await start({}, {});
    server.objects.set('a', Buffer.from('x'));
    expect((await bytesOf(bucket.read('a'))).toString()).toBe('x');
    const open = await testBucketServer({ bucket: 'events' });
    open.objects.set('a', Buffer.from('public'));
    const anonymous = await connectBucket({ bucket: 'events', region: 'eu-central-1', endpoint: open.endpoint });
    undo.push(async () => {
      anonymous.close();
      await open[Symbol.asyncDispose]();
    });
    expect((await bytesOf(anonymous.read('a'))).toString()).toBe('public');
  });

  it('failures are distinguished, without secrets', async () => {
    const { server, bucket } = await start();
    expect(await failure(bytesOf(bucket.read('none')))).toMatchObject({ kind: 'missing' });
    const place = { region: 'eu-central-1', endpoint: server.endpoint, attempts: 1 };
    const connect = async (more: Partial<BucketSettings>): Promise<unknown> => {
      const other = await connectBucket({ bucket: 'events', credentials: keys, ...place, ...more });
      const error = await failure(Array.fromAsync(other.list('')));
      other.close();
      return error;
    };
    const wrongKey = await connect({ credentials: { ...keys, accessKeyId: 'AKIDOTHER' } });
    expect(wrongKey).toMatchObject({ kind: 'refused' });
    expect(String(wrongKey)).not.toContain(keys.secretAccessKey);
    expect(await connect({ bucket: 'elsewhere' })).toMatchObject({ kind: 'missing' });
    expect(await connect({ endpoint: 'http://127.0.0.1:1' })).toMatchObject({ kind: 'wait' });
  });

  it('connects only to addresses that are allowed, by name and by number', async () => {
    const refuse = async (host: string): Promise<string> => {
      throw Object.assign(new Error(`${host} may not be reached`), { name: 'OutboundError' });
    };
    const { server, bucket } = await start({}, { resolve: refuse, attempts: 1 });
    await expect(Array.fromAsync(bucket.list(''))).rejects.toThrow('127.0.0.1 may not be reached');
    const endpoint = server.endpoint.replace('127.0.0.1', 'storage.example.com');
    const named = await start({}, { resolve: refuse, endpoint, attempts: 1 });
    await expect(Array.fromAsync(named.bucket.list(''))).rejects.toThrow('storage.example.com may not be reached');
    const pinned = await start({}, { resolve: async () => '127.0.0.1', endpoint, attempts: 1 });
    expect(await Array.fromAsync(pinned.bucket.list(''))).toEqual([[]]);
    expect(server.seen).toEqual(['GET /events/?list-type=2&prefix=']);
  });

  it('an aborted signal ends a read with its reason', async () => {
    const { server, bucket } = await start();
    server.objects.set('a', randomBytes(30 * 1024 * 1024));
    const controller = new AbortController();
    const reading = (async () => {
      for await (const _chunk of bucket.read('a', { signal: controller.signal })) controller.abort(new Error('paused'));
    })();
    await expect(reading).rejects.toThrow('paused');
  });
});
