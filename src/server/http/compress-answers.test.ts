import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { compressAnswers } from './compress-answers.ts';

const long = { results: Array.from({ length: 1_000 }, (_, index) => ({ index, name: 'ümlaut' })) };

async function ask(path: string, acceptEncoding?: string) {
  const app = fastify();
  compressAnswers(app);
  app.get('/long', async () => long);
  app.get('/bytes', async (_request, reply) => reply.type('application/json').send(Buffer.from(JSON.stringify(long))));
  app.get('/tagged', async (_request, reply) => reply.header('etag', '"1"').send(long));
  app.get('/short', async () => ({ ok: true }));
  app.get('/page', async (_request, reply) => reply.type('text/html').send('x'.repeat(20_000)));
  return app.inject({ url: path, headers: acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding } });
}

it.each(['/long', '/bytes'])('the long JSON answer of %s is compressed for clients that accept it', async (path) => {
  const plain = await ask(path);
  expect(plain.json()).toEqual(long);
  expect(plain.headers).toMatchObject({ vary: 'accept-encoding' });
  expect(plain.headers).not.toHaveProperty('content-encoding');
  const brotli = await ask(path, 'gzip, deflate, br');
  expect(brotli.headers).toMatchObject({ 'content-encoding': 'br' });
  expect(JSON.parse(String(brotliDecompressSync(brotli.rawPayload)))).toEqual(long);
  const packed = await ask(path, 'gzip, deflate');
  expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(Number(packed.headers['content-length'])).toBe(packed.rawPayload.length);
  expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5);
  expect(JSON.parse(String(gunzipSync(packed.rawPayload)))).toEqual(long);
});

it.each([
  ['/short', 'gzip'],
  ['/page', 'gzip'],
  ['/tagged', 'gzip'],
  ['/long', 'zstd, gzip;q=0'],
])('%s with accept-encoding %s is sent as it is', async (path, acceptEncoding) => {
  expect((await ask(path, acceptEncoding)).headers).not.toHaveProperty('content-encoding');
});
