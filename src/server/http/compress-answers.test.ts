import { gunzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { compressAnswers } from './compress-answers.ts';

const long = { results: Array.from({ length: 1_000 }, (_, index) => ({ index, name: 'ümlaut' })) };

async function ask(path: string, acceptEncoding?: string) {
  const app = fastify();
  compressAnswers(app);
  app.get('/long', async () => long);
  app.get('/short', async () => ({ ok: true }));
  app.get('/page', async (_request, reply) => reply.type('text/html').send('x'.repeat(20_000)));
  return app.inject({ url: path, headers: acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding } });
}

it('a long JSON answer is compressed for clients that accept it, with the same content', async () => {
  const plain = await ask('/long');
  expect(plain.json()).toEqual(long);
  expect(plain.headers).toMatchObject({ vary: 'accept-encoding' });
  expect(plain.headers).not.toHaveProperty('content-encoding');
  const packed = await ask('/long', 'gzip, deflate, br');
  expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(Number(packed.headers['content-length'])).toBe(packed.rawPayload.length);
  expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5);
  expect(JSON.parse(String(gunzipSync(packed.rawPayload)))).toEqual(long);
});

it.each([
  ['/short', 'gzip'],
  ['/page', 'gzip'],
  ['/long', 'br, gzip;q=0'],
])('%s with accept-encoding %s is sent as it is', async (path, acceptEncoding) => {
  expect((await ask(path, acceptEncoding)).headers).not.toHaveProperty('content-encoding');
});
