import { fastify, type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMethodRefusals, type MethodRefusals } from './refuse-methods.ts';

const served = {
  '/plugins': ['GET', 'HEAD', 'POST'],
  '/plugins/:id': ['GET', 'HEAD', 'DELETE'],
  '/plugins/repository': ['GET', 'HEAD'],
  '/plugins/:id/files': ['GET', 'HEAD'],
};

let app: FastifyInstance;
let refusals: MethodRefusals;
beforeAll(async () => {
  app = fastify();
  refusals = createMethodRefusals(10);
  for (const [url, methods] of Object.entries(served)) {
    for (const method of methods.filter((each) => each !== 'HEAD')) {
      app.route({ method, url, handler: async () => 'served' });
    }
  }
  const paths = Object.entries(served).map(([url, methods]) => ({ url, known: new Set(methods) }));
  refusals.add(app, paths);
  app.setErrorHandler((error, _request, reply) => reply.code(405).send(error));
  await app.ready();
});
afterAll(() => app.close());

describe('a method that is not served on a path', () => {
  it.each([
    ['PATCH', '/plugins', '/plugins', 'GET, HEAD, POST'],
    ['DELETE', '/plugins?id=1', '/plugins', 'GET, HEAD, POST'],
    ['DELETE', '/plugins/1/files', '/plugins/:id/files', 'GET, HEAD'],
    ['TRACE', '/plugins/a%20b/files', '/plugins/:id/files', 'GET, HEAD'],
    ['TRACE', '/%70lugins', '/plugins', 'GET, HEAD, POST'],
  ])('%s %s is refused as %s', (method, url, route, allow) => {
    const refused = refusals.find({ method, url });
    expect(refused?.route).toBe(route);
    expect(refused?.error).toMatchObject({ status: 405, headers: { allow } });
  });

  it('is refused by a route where another path would answer it', async () => {
    const answer = await app.inject({ method: 'DELETE', url: '/plugins/repository' });
    expect([answer.statusCode, answer.body]).toEqual([405, expect.stringContaining('not allowed')]);
    expect((await app.inject({ method: 'DELETE', url: '/plugins/1' })).body).toBe('served');
  });

  it.each([
    ['an unknown path', 'PATCH', '/plugin'],
    ['a path below', 'PATCH', '/plugins/1/files/2'],
    ['a parameter that is too long for the router', 'PATCH', `/plugins/${'1'.repeat(11)}/files`],
    ['a method that cannot be routed', 'PROPFIND', '/plugins'],
    ['a method that is served', 'POST', '/plugins'],
  ])('nothing is refused: %s', (_what, method, url) => {
    expect(refusals.find({ method, url })).toBeUndefined();
  });
});
