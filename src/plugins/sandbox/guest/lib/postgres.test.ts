import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllowList } from '../../../outbound/allow-list.ts';
import { resolveAllowed } from '../../../outbound/resolve-allowed.ts';
import { testPostgres, type TestPostgres } from '../../../../../test/support/plugin-postgres.ts';
import { openTestIsolate, type TestIsolate } from './isolate.fixture.ts';

let server: TestPostgres;
let isolate: TestIsolate;

beforeAll(async () => {
  server = await testPostgres();
  const allow = parseAllowList(`127.0.0.1:${server.port}`);
  isolate = await openTestIsolate({ resolveAllowed: (host, port) => resolveAllowed(host, port, allow) });
});

afterAll(async () => {
  isolate.close();
  await server[Symbol.asyncDispose]();
});

const options = (): string => `{ host: '127.0.0.1', port: ${server.port}, user: 'u', password: 'p', database: 'd' }`;
const withClient = (code: string): Promise<unknown> =>
  isolate.run(`(async ({ Client }) => {
    const client = new Client(${options()});
    await client.connect();
    try { return await (async () => ${code})(); } finally { await client.end(); }
  })(require('pg'))`);

describe('Client', () => {
  it('rows are objects, with times, numbers, JSON and bytes as in pg', async () => {
    const query = `SELECT 1 AS n, 'é' AS t, 9007199254740993::int8 AS big, '{"a":[1]}'::jsonb AS j, '\\\\x00ff'::bytea AS b, true AS yes, NULL AS nothing, '2026-01-02T03:04:05Z'::timestamptz AS at`;
    const code = `client.query(\`${query}\`).then(({ rows: [row], rowCount, command, fields }) => [
      { ...row, b: [...row.b], at: row.at.toISOString() }, row.at instanceof Date, Buffer.isBuffer(row.b),
      rowCount, command, fields[0].name])`;
    const row = {
      n: 1,
      t: 'é',
      big: '9007199254740993',
      j: { a: [1] },
      b: [0, 255],
      yes: true,
      nothing: null,
      at: '2026-01-02T03:04:05.000Z',
    };
    expect(await withClient(code)).toEqual([row, true, true, 1, 'SELECT', 'n']);
  });

  it('values are sent as in pg', async () => {
    const code = `client.query('SELECT $1::text AS t, $2::int AS n, $3::jsonb AS j, $4::timestamptz AS at, $5::bytea AS b, $6::int[] AS list, $7::text AS nothing',
      ["a'b", 5, { x: 1 }, new Date(0), Buffer.from([1]), [1, 2], undefined]).then(({ rows: [row] }) => ({ ...row, b: [...row.b], at: row.at.getTime() }))`;
    expect(await withClient(code)).toEqual({ t: "a'b", n: 5, j: { x: 1 }, at: 0, b: [1], list: [1, 2], nothing: null });
  });

  it('creates, inserts and counts', async () => {
    const code = `(await client.query('CREATE TABLE IF NOT EXISTS events (uuid varchar(200), n int)'),
      await client.query('INSERT INTO events VALUES ($1, $2), ($3, $4)', ['a', 1, 'b', 2]),
      [(await client.query('SELECT count(1) FROM events')).rows[0].count, (await client.query({ text: 'SELECT n FROM events ORDER BY n', rowMode: 'array' })).rows])`;
    expect(await withClient(code)).toEqual(['2', [[1], [2]]]);
  });

  it('a database error has its code, and the next query succeeds', async () => {
    const code = `client.query('SELECT nonsense').then(() => 'none', (error) => [error.message, error.code, error instanceof Error])
      .then(async (first) => [first, (await client.query('SELECT 1 AS a')).rows])`;
    expect(await withClient(code)).toEqual([['column "nonsense" does not exist', '42703', true], [{ a: 1 }]]);
  });

  it('callbacks are called', async () => {
    const code = `new Promise((resolve) => { const client = new (require('pg').Client)(${options()});
      client.connect((error) => client.query('SELECT $1::int AS a', [1], (failure, result) => client.end(() => resolve([error, failure, result.rows])))); })`;
    expect(await isolate.run(code)).toEqual([null, null, [{ a: 1 }]]);
  });

  it('a connection string is equivalent', async () => {
    const code = `(async () => { const client = new (require('pg').Client)({ connectionString: 'postgres://u:p@127.0.0.1:${server.port}/d' });
      await client.connect(); const { rows } = await client.query('SELECT 1 AS a');
      await client.end(); return rows; })()`;
    expect(await isolate.run(code)).toEqual([{ a: 1 }]);
  });
});

describe('Pool', () => {
  it('lends clients, queues further callers, and ends clients', async () => {
    const code = `(async ({ Pool }) => { const pool = new Pool({ ...${options()}, max: 2 });
      const sums = await Promise.all([1, 2, 3, 4, 5].map((n) => pool.query('SELECT $1::int + 1 AS n', [n])));
      const client = await pool.connect(); await client.query('SELECT 1'); client.release();
      const counts = [pool.totalCount, pool.idleCount]; await pool.end();
      return [sums.map(({ rows }) => rows[0].n), counts]; })(require('pg'))`;
    expect(await isolate.run(code)).toEqual([
      [2, 3, 4, 5, 6],
      [2, 2],
    ]);
    expect(server.connections()).toBe(0);
  });
});

describe('refusals', () => {
  const connect = (given: string): Promise<unknown> => isolate.run(`new (require('pg').Client)(${given}).connect()`);

  it.each([
    [`{ host: 'localhost', user: 'u' }`, 'localhost'],
    [`{ host: '10.0.0.1', user: 'u' }`, '10.0.0.1'],
    [`{ host: '169.254.169.254', user: 'u' }`, '169.254.169.254'],
    [`{ host: '::1', user: 'u' }`, '::1'],
    [`{ user: 'u' }`, 'localhost'],
    [`'postgres://u:secret@127.0.0.1:1/d'`, '127.0.0.1'],
    [`'postgres://u:secret@[::1]/d'`, '::1'],
    [`{ host: '/var/run/postgresql', user: 'u' }`, '/var/run'],
    [`{ host: '127.0.0.1' }`, 'the name of a user'],
    [`{ host: '127.0.0.1', user: 'u', port: 'x' }`, 'the port'],
    [`'socket:/var/run/postgresql'`, 'a connection string like'],
    [`{ connectionString: 'file:///etc/passwd' }`, 'a connection string like'],
  ])('%s', async (given, message) => {
    await expect(connect(given)).rejects.toThrow(message);
    await expect(connect(given)).rejects.not.toThrow('secret');
  });

  it('too many connections of one config', async () => {
    const code = `(async ({ Client }) => { const clients = Array.from({ length: 11 }, () => new Client(${options()}));
      const all = await Promise.allSettled(clients.map((client) => client.connect()));
      await Promise.allSettled(clients.map((client) => client.end()));
      return all.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.message); })(require('pg'))`;
    expect(await isolate.run(code)).toEqual([expect.stringContaining('at most 10 concurrent connections')]);
  });

  it('closing an instance closes its connections', async () => {
    const allow = parseAllowList(`127.0.0.1:${server.port}`);
    const other = await openTestIsolate({ resolveAllowed: (host, port) => resolveAllowed(host, port, allow) });
    await other.run(`new (require('pg').Client)(${options()}).connect()`);
    expect(server.connections()).toBe(1);
    other.close();
    await expect.poll(() => server.connections()).toBe(0);
  });
});
