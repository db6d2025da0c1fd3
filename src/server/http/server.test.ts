import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Type } from 'typebox';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { apiRoute, type ApiRoute } from './api-route.ts';

const thingSchema = Type.Object({
  plugin: Type.Integer(),
  order: Type.Optional(Type.Integer({ minimum: -2147483648, maximum: 2147483647 })),
  enabled: Type.Optional(Type.Boolean()),
  name: Type.Optional(Type.Union([Type.String({ maxLength: 5 }), Type.Null()])),
});
const things = '/api/projects/:project_id/things';
const common = { tag: 'things', responses: { 200: Type.Object({}) } } as const;

function thingRoutes(): ApiRoute[] {
  return [
    apiRoute({
      ...common,
      method: 'GET',
      path: things,
      scope: 'plugin:read',
      summary: 'List',
      handler: async (request) => ({
        status: 200,
        body: { project: request.project().id, url: request.url, rawQuery: request.rawQuery, query: request.query },
      }),
    }),
    apiRoute({
      ...common,
      method: 'POST',
      path: things,
      scope: 'plugin:write',
      summary: 'Create',
      body: thingSchema,
      handler: async (request) => ({
        status: 201,
        body: {
          body: request.body,
          files: [...request.files].map(([name, file]) => [name, file.fileName, file.content.length]),
        },
      }),
    }),
    apiRoute({
      ...common,
      method: 'DELETE',
      path: `${things}/:id`,
      scope: 'plugin:write',
      summary: 'Delete',
      params: Type.Object({ id: Type.Integer() }),
      handler: async () => ({ status: 204 }),
    }),
    apiRoute({
      ...common,
      method: 'GET',
      path: '/api/broken',
      scope: 'public',
      summary: 'Throws',
      handler: async () => {
        throw new Error('connect to postgres://admin:hunter2@db failed');
      },
    }),
    apiRoute({
      ...common,
      method: 'GET',
      path: '/api/down',
      scope: 'public',
      summary: 'Store is down',
      handler: async () => {
        throw Object.assign(new Error('database is locked'), { code: 'ERR_SQLITE_ERROR', errcode: 5 });
      },
    }),
    apiRoute({
      ...common,
      method: 'GET',
      path: '/api/text',
      scope: 'public',
      summary: 'Text',
      handler: async () => ({ status: 200, body: 'export {}', headers: { 'content-type': 'text/javascript' } }),
    }),
  ];
}

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startTestApp(thingRoutes, { settings: { allowedHosts: 'events.example.com' } });
  key = await app.key();
});
afterAll(() => app[Symbol.asyncDispose]());

const authorization = (value: string) => ({ authorization: `Bearer ${value}` });

describe('paths', () => {
  it('answers with and without trailing slash and under /api/environments/', async () => {
    const { id } = app.project;
    for (const base of [`/api/projects/${id}`, `/api/environments/${id}`, '/api/projects/@current']) {
      for (const url of [`${base}/things`, `${base}/things/`]) {
        const answer = await app.inject({ url, headers: authorization(key) });
        expect([url, answer.statusCode, answer.json().project]).toEqual([url, 200, id]);
      }
    }
  });

  it('answers 405 with Allow to a wrong method, and 404 to an unknown path', async () => {
    const wrong = await app.inject({ method: 'PUT', url: '/api/projects/1/things/' });
    expect([wrong.statusCode, wrong.headers['allow']]).toEqual([405, 'GET, HEAD, POST']);
    expect(wrong.json()).toEqual({
      type: 'invalid_request',
      code: 'method_not_allowed',
      detail: 'Method "PUT" not allowed.',
      attr: null,
    });
    const unknown = await app.inject({ url: '/api/nothing' });
    expect([unknown.statusCode, unknown.json().code, unknown.json().detail]).toEqual([
      404,
      'not_found',
      'Endpoint not found.',
    ]);
    // Sound: the types of inject know fewer methods than it sends.
    for (const method of ['QUERY', 'TRACE'] as string[] as 'GET'[]) {
      expect((await app.inject({ method, url: '/api/nothing' })).statusCode).toBe(404);
    }
    expect((await app.inject({ url: '/api/%zz' })).statusCode).toBe(404);
    expect((await app.inject({ url: `/api/projects/${'9'.repeat(500)}/things` })).statusCode).toBe(404);
  });

  it('passes the handler the URL as called and the query without a key', async () => {
    const answer = await app.inject({
      url: `/api/projects/@current/things/?a=1&personal_api_key=${key}&b=2`,
      headers: { host: 'events.example.com:8443' },
    });
    expect(answer.json()).toMatchObject({
      url: 'http://events.example.com:8443/api/projects/@current/things/',
      rawQuery: 'a=1&b=2',
      query: { a: '1', b: '2' },
    });
    expect(answer.body).not.toContain(key);
  });

  it('sends text unchanged with the content type of the handler', async () => {
    const answer = await app.inject({ url: '/api/text' });
    expect([answer.headers['content-type'], answer.body]).toEqual(['text/javascript', 'export {}']);
  });
});

describe('bodies', () => {
  const post = (payload: string | Buffer, contentType: string | undefined) =>
    app.inject({
      method: 'POST',
      url: '/api/projects/@current/things/',
      headers: { ...authorization(key), ...(contentType !== undefined && { 'content-type': contentType }) },
      payload,
    });
  const json = 'application/json';
  const form = 'application/x-www-form-urlencoded';

  it.each([
    ['JSON', '{"plugin":1,"order":0}', json, { plugin: 1, order: 0 }],
    ['strings that clearly represent the type', '{"plugin":"1","enabled":"true"}', json, { plugin: 1, enabled: true }],
    ['a form', 'plugin=1&order=0&name=a%20b', form, { plugin: 1, order: 0, name: 'a b' }],
    ['a form under a JSON type', 'plugin=1&order=-3&enabled=true', json, { plugin: 1, order: -3, enabled: true }],
    ['a charset', '{"plugin":1}', 'application/json; charset=utf-8', { plugin: 1 }],
    ['a byte order mark', '\ufeff{"plugin":1}', json, { plugin: 1 }],
    ['unknown fields', '{"plugin":1,"team_id":"x"}', json, { plugin: 1, team_id: 'x' }],
    ['an allowed null', '{"plugin":1,"name":null}', json, { plugin: 1, name: null }],
    ['a number that stays text in a form', 'plugin=1&name=5', form, { plugin: 1, name: '5' }],
    ['the last of a repeated field', 'plugin=1&plugin=2', form, { plugin: 2 }],
    ['repeated JSON keys: the last', '{"plugin":1,"plugin":3}', json, { plugin: 3 }],
  ])('takes %s', async (_name, payload, type, expected) => {
    const answer = await post(payload, type);
    expect([answer.statusCode, answer.json().body]).toEqual([201, expected]);
  });

  it.each([
    ['an empty body', '', json, 400, 'required', 'plugin'],
    ['a list', '[{"plugin":1}]', json, 400, 'invalid_input', null],
    ['broken JSON', '{"plugin":', json, 400, 'parse_error', null],
    ['deep nesting', `{"plugin":1,"a":${'['.repeat(100)}${']'.repeat(100)}}`, json, 400, 'parse_error', null],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]), json, 400, 'parse_error', null],
    ['another type', '<a/>', 'application/xml', 415, 'unsupported_media_type', null],
    ['plain text', '{}', 'text/plain', 415, 'unsupported_media_type', null],
    ['a number for text', '{"plugin":1,"name":5}', json, 400, 'invalid_input', 'name'],
    ['text for a number', '{"plugin":"x"}', json, 400, 'invalid_input', 'plugin'],
    ['a boolean for a number', '{"plugin":true}', json, 400, 'invalid_input', 'plugin'],
    ['a number for a boolean', '{"plugin":1,"enabled":1}', json, 400, 'invalid_input', 'enabled'],
    ['null', '{"plugin":null}', json, 400, 'null', 'plugin'],
    ['too much', '{"plugin":1,"order":2147483648}', json, 400, 'max_value', 'order'],
    ['too little', '{"plugin":1,"order":"-2147483649"}', json, 400, 'min_value', 'order'],
    ['long text', '{"plugin":1,"name":"123456"}', json, 400, 'max_length', 'name'],
    ['a multipart body without parts', 'nothing', 'multipart/form-data; boundary=x', 400, 'parse_error', null],
  ])('refuses %s', async (_name, payload, type, status, code, attr) => {
    const answer = await post(payload, type);
    expect([answer.statusCode, answer.json().code, answer.json().attr]).toEqual([status, code, attr]);
  });

  it('lists every invalid field', async () => {
    const answer = await post('{"order":"x","enabled":"maybe"}', json);
    expect(answer.json()).toEqual({
      type: 'validation_error',
      code: 'required',
      detail: 'This field is required.',
      attr: 'plugin',
      errors: [
        { code: 'required', detail: 'This field is required.', attr: 'plugin' },
        { code: 'invalid_input', detail: 'A valid integer is required.', attr: 'order' },
        { code: 'invalid_input', detail: 'Must be a valid boolean.', attr: 'enabled' },
      ],
    });
  });

  it('reads fields and files of a multipart body', async () => {
    const payload = [
      '--x\r\nContent-Disposition: form-data; name="plugin"\r\n\r\n7',
      '--x\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\na,b',
      '--x--\r\n',
    ].join('\r\n');
    const answer = await post(payload, 'multipart/form-data; boundary=x');
    expect([answer.statusCode, answer.json()]).toEqual([201, { body: { plugin: 7 }, files: [['f', 'a.csv', 3]] }]);
  });

  it('refuses a file above 10 MiB and a body above 20 MiB with 413', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n';
    const large = Buffer.concat([Buffer.from(head), Buffer.alloc(11 * 1024 * 1024), Buffer.from('\r\n--x--\r\n')]);
    expect((await post(large, 'multipart/form-data; boundary=x')).statusCode).toBe(413);
    expect((await post(Buffer.alloc(21 * 1024 * 1024, 32), json)).statusCode).toBe(413);
  });

  it('drops __proto__ keys and pollutes nothing', async () => {
    const answer = await post('{"plugin":1,"__proto__":{"polluted":1},"a":{"\\u005f_proto__":{"polluted":1}}}', json);
    expect(answer.json().body).toEqual({ plugin: 1, a: {} });
    expect((await post('plugin=1&__proto__=x&constructor=y', form)).statusCode).toBe(201);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('never quotes a broken body', async () => {
    const answer = await post('{"password":"hunter2" oops', json);
    expect(answer.statusCode).toBe(400);
    expect(answer.body).not.toContain('hunter2');
  });
});

describe('errors', () => {
  it('reveals nothing about a thrown error, and logs it with the request id', async () => {
    const answer = await app.inject({ url: '/api/broken', headers: { 'x-request-id': 'req-broken' } });
    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toEqual({
      type: 'server_error',
      code: 'error',
      detail: 'A server error occurred.',
      attr: null,
    });
    const line = app.logged.find((entry) => entry['requestId'] === 'req-broken' && entry['level'] === 'error');
    expect(JSON.stringify(line)).toContain('connect to postgres');
  });

  it('answers 503 with Retry-After when the store is unavailable', async () => {
    const answer = await app.inject({ url: '/api/down' });
    expect([answer.statusCode, answer.json().code, answer.headers['retry-after']]).toEqual([503, 'unavailable', '5']);
    expect(answer.body).not.toContain('locked');
  });

  it('puts X-Request-Id on every answer: the caller’s if it is valid, otherwise a new one', async () => {
    for (const url of ['/livez', '/api/nothing', '/api/broken', '/', '/api/%zz', `/api/projects/@current/things`]) {
      const given = await app.inject({ url, headers: { 'x-request-id': 'abc 123' } });
      expect([url, given.headers['x-request-id']]).toEqual([url, 'abc 123']);
      for (const bad of ['', 'x'.repeat(129), 'caf\u00e9']) {
        const made = await app.inject({ url, headers: { 'x-request-id': bad } });
        expect(made.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      }
    }
  });

  it('logs no key and no query string', async () => {
    await app.inject({ url: `/api/projects/@current/things?personal_api_key=${key}`, headers: authorization(key) });
    expect(JSON.stringify(app.logged)).not.toContain(key);
    expect(JSON.stringify(app.logged)).not.toContain('personal_api_key');
  });

  it('answers bytes that are not HTTP with an error body', async () => {
    await app.app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.app.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('nonsense\r\n\r\n'));
      let received = '';
      socket.on('data', (chunk) => (received += chunk.toString()));
      socket.on('end', () => resolve(received));
      socket.on('error', reject);
    });
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(text).toMatch(/x-request-id: [0-9a-f-]{36}/);
    expect(text).toContain('"code":"parse_error"');
  });
});
