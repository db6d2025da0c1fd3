import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askFramework, askOverHttp, type Asked, type Heard } from '../../../test/support/both-ways.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';
import { secondMs } from '../../base/time.ts';
import type { Settings } from '../config/settings.ts';

const family = 'pipeline_transformation_configs';

/** An app that listens, with two configs and keys of several kinds. */
async function startWorld(settings: Partial<Settings> = {}) {
  const own = await startConfigsApp({ settings: { siteUrl: '', trustProxy: true, ...settings } });
  const { app } = own;
  const ids = [await own.create('transformation', { name: 'Größe' }), await own.create('transformation')];
  await app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.app.server.address() as AddressInfo;
  const revoked = await app.key();
  await app.db
    .deleteFrom('personal_api_keys')
    .where('id', '=', await lastKeyId(own))
    .execute();
  return {
    own,
    port,
    id: ids[0] ?? 0,
    base: `/api/projects/${app.project.id}/${family}/`,
    key: await app.key(),
    otherScopeKey: await app.key(['person:read']),
    otherProjectKey: await app.key(['*'], { projectIds: [app.otherProject.id] }),
    expiredKey: await app.key(['*'], { expiresAt: '2026-01-01T00:00:00Z' }),
    revokedKey: revoked,
    cookie: await app.session(),
  };
}
type World = Awaited<ReturnType<typeof startWorld>>;

async function lastKeyId({ app }: ConfigsApp): Promise<string> {
  const { id } = await app.db
    .selectFrom('personal_api_keys')
    .select('id')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow();
  return id;
}

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.own[Symbol.asyncDispose]());

type Ask = (world: World) => Omit<Asked, 'method'>;

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const path =
  (make: (world: World) => string): Ask =>
  (given) => ({ path: make(given), headers: bearer(given.key) });
const headers =
  (make: (world: World) => Readonly<Record<string, string>>): Ask =>
  (given) => ({ path: `${given.base}${given.id}/`, headers: make(given) });

const usual: readonly (readonly [string, number, Ask])[] = [
  ['one config', 200, path(({ base, id }) => `${base}${id}/`)],
  ['one config, no slash at the end', 200, path(({ base, id }) => `${base}${id}`)],
  ['a list', 200, path(({ base }) => base)],
  ['a list of the current project', 200, path(() => `/api/projects/@current/${family}`)],
  ['a list under environments', 200, path(({ own }) => `/api/environments/${own.app.project.id}/${family}/`)],
  ['a page, with links to the others', 200, path(({ base }) => `${base}?limit=1&offset=1`)],
  ['a repeated parameter', 200, path(({ base }) => `${base}?limit=1&limit=2`)],
  ['unknown parameters', 200, path(({ base }) => `${base}?a+b&=&c=1=2&__proto__=1`)],
  ['an empty query', 200, path(({ base }) => `${base}?`)],
  ['those that fail', 200, path(({ base }) => `${base}?failing=true`)],
  ['a search', 200, path(({ base }) => `${base}?search=gr`)],
  ['an invalid limit', 400, path(({ base }) => `${base}?limit=x`)],
  ['a key in the query', 200, ({ base, key }) => ({ path: `${base}?limit=1&personal_api_key=${key}` })],
  ['an id that is no number', 400, path(({ base }) => `${base}x/`)],
  ['an unknown config', 404, path(({ base }) => `${base}999999/`)],
  [
    'a config of the other family',
    404,
    path(({ base, id }) => `${base.replace('transformation', 'import_apps')}${id}/`),
  ],
  ['a number that no id reaches', 404, path(({ base }) => `${base}999999999999999/`)],
  ['another project', 404, path(({ own, id }) => `/api/projects/${own.app.otherProject.id}/${family}/${id}/`)],
  ['a project of others', 404, path(({ own, id }) => `/api/projects/${own.app.foreignProject.id}/${family}/${id}/`)],
  ['an unknown project', 404, path(() => `/api/projects/99999/${family}/`)],
  ['no key', 401, headers(() => ({}))],
  ['a wrong key', 401, headers(() => bearer('phx_wrong'))],
  ['a revoked key', 401, headers(({ revokedKey }) => bearer(revokedKey))],
  ['an expired key', 401, headers(({ expiredKey }) => bearer(expiredKey))],
  ['a missing scope', 403, headers(({ otherScopeKey }) => bearer(otherScopeKey))],
  ['a key of another project', 404, headers(({ otherProjectKey }) => bearer(otherProjectKey))],
  ['a session', 200, headers(({ cookie }) => ({ cookie }))],
  ['a host that is not this service', 421, headers(({ key }) => ({ ...bearer(key), host: 'evil.example' }))],
  ['If-None-Match', 200, headers(({ key }) => ({ ...bearer(key), 'if-none-match': '"a"' }))],
  ['a page of elsewhere', 200, headers(({ key }) => ({ ...bearer(key), origin: 'https://shop.example' }))],
  [
    'a proxy that says how it was asked',
    200,
    ({ base, key }) => ({
      path: `${base}?limit=1`,
      headers: {
        ...bearer(key),
        'x-forwarded-for': '203.0.113.7, 10.0.0.1',
        'x-forwarded-host': 'else.localhost, events.localhost:8443',
        'x-forwarded-proto': 'https',
      },
    }),
  ],
];

const unusual: readonly (readonly [string, number, Asked['method'], Ask])[] = [
  ['HEAD', 200, 'HEAD', path(({ base, id }) => `${base}${id}/`)],
  ['OPTIONS', 405, 'OPTIONS', path(({ base, id }) => `${base}${id}/`)],
  ['a method that is not served', 405, 'PUT', path(({ base }) => base)],
  ['a path that is of another route', 405, 'GET', path(({ base }) => `${base}rearrange`)],
  ['a path with escapes', 200, 'GET', path(() => `/api/projects/%40current/${family}/`)],
  ['a query with escapes', 200, 'GET', path(({ base }) => `${base}?search=Gr%C3%B6%C3%9Fe`)],
  [
    'a body',
    200,
    'GET',
    ({ base, key }) => ({ path: base, body: '{}', headers: { ...bearer(key), 'content-type': 'application/json' } }),
  ],
];

describe('a read of configs has the same response with and without the framework', () => {
  const bothWays = async (asked: Asked): Promise<{ direct: Heard; framed: Heard; framedCount: number }> => {
    const { app } = world.own;
    const given = { host: 'localhost', 'x-request-id': 'the same', ...asked.headers };
    const before = app.framed();
    const direct = await askOverHttp(world.port, { ...asked, headers: given });
    const framedCount = app.framed() - before;
    return { direct, framed: await askFramework(app, { ...asked, headers: given }), framedCount };
  };

  it.each(usual)('%s', async (_name, status, ask) => {
    const { direct, framed, framedCount } = await bothWays({ method: 'GET', ...ask(world) });
    expect(direct).toEqual(framed);
    expect([direct.status, framedCount]).toEqual([status, 0]);
    expect(direct.headers).toMatchObject({ 'x-request-id': 'the same', 'cache-control': 'no-store' });
  });

  it.each(unusual)('%s, which is left to the framework', async (_name, status, method, ask) => {
    const { direct, framed, framedCount } = await bothWays({ method, ...ask(world) });
    expect(direct).toEqual(framed);
    expect([direct.status, framedCount]).toEqual([status, 1]);
  });
});

it('a request is counted by its route, whichever way it is answered', async () => {
  const { own, port, base, id, key } = world;
  const counted = async (): Promise<number> => {
    const { body } = await own.app.inject('/metrics');
    const line = new RegExp(
      `^millrace_http_requests_total\\{route="/api/projects/:project_id/${family}/:id",method="GET",status="200"\\} (\\d+)$`,
      'm',
    );
    return Number(line.exec(body)?.[1] ?? 0);
  };
  const asked: Asked = { method: 'GET', path: `${base}${id}/`, headers: bearer(key) };
  const before = await counted();
  await askOverHttp(port, asked);
  expect(await counted()).toBe(before + 1);
  await askFramework(own.app, asked);
  expect(await counted()).toBe(before + 2);
});

it('a key that is revoked is refused within 5 s, a change is seen with the next request', async () => {
  const { own, port, base, id } = world;
  const key = await own.app.key();
  const ask = () => askOverHttp(port, { method: 'GET', path: `${base}${id}/`, headers: bearer(key) });
  for (const name of ['First', 'Second']) {
    await own.call('PATCH', 'transformation', `/${id}/`, { name });
    expect(JSON.parse((await ask()).text)).toMatchObject({ name });
  }
  await own.app.db
    .deleteFrom('personal_api_keys')
    .where('id', '=', await lastKeyId(own))
    .execute();
  own.app.clock.advance(5 * secondMs);
  expect((await ask()).status).toBe(401);
});

it('the rate limit counts directly answered requests, and every response reports it', async () => {
  const limited = await startWorld({ apiRateLimit: '6/min' });
  await using _app = limited.own;
  const asked: Asked = { method: 'GET', path: limited.base, headers: bearer(limited.key) };
  const ways = [() => askOverHttp(limited.port, asked), () => askFramework(limited.own.app, asked)] as const;
  const received: unknown[] = [];
  for (const index of [0, 1, 0, 1, 0, 1, 0, 1]) {
    const { status, headers: given } = await (ways[index] ?? ways[0])();
    received.push([status, given['ratelimit-limit'], given['ratelimit-remaining'], given['retry-after']]);
  }
  const answered = ['5', '4', '3', '2', '1', '0'].map((left) => [200, '6', left, undefined]);
  expect(received).toEqual([...answered, [429, '6', '0', '60'], [429, '6', '0', '60']]);
});
