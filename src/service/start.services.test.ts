import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  apiGet,
  projectKey,
  startServer,
  tempDataDir,
  untilStored,
  type TestServer,
} from '../../test/support/server.ts';
import type { Metadata } from '../metadata/database.ts';
import { openPostgres } from '../metadata/postgres.ts';

// Real: the program as a process, PostgreSQL, the embedded event store, kill -9.

const url = process.env.DATABASE_URL;
const reason = url === undefined ? ' (skipped: DATABASE_URL is not set)' : '';

async function send(server: TestServer, body: object): Promise<number> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    body: JSON.stringify({ api_key: projectKey, ...body }),
  });
  return answer.status;
}

describe.skipIf(url === undefined)(`the whole program on PostgreSQL${reason}`, () => {
  const name = `millrace_main_${randomUUID().replaceAll('-', '')}`;
  let server: Metadata;
  let env: { readonly DATABASE_URL: string };

  beforeAll(async () => {
    const own = new URL(url ?? '');
    server = openPostgres(own.href);
    await sql`create database ${sql.id(name)}`.execute(server);
    own.pathname = `/${name}`;
    env = { DATABASE_URL: own.href };
  });
  afterAll(async () => {
    await sql`drop database ${sql.id(name)} with (force)`.execute(server);
    await server.destroy();
  });

  it('what was acknowledged before kill -9 is stored once, with its persons; a second service is kept out', async () => {
    await using data = await tempDataDir();
    await using other = await tempDataDir();
    const batch = Array.from({ length: 300 }, (_, n) => ({
      event: 'seen',
      distinct_id: `p${n % 10}`,
      uuid: randomUUID(),
      timestamp: '2026-01-02T03:04:05Z',
      properties: { $set: { n, nul: 'a\0b' } },
    }));
    const history = batch.map((event) => ({ ...event, uuid: randomUUID(), timestamp: '2021-02-03T04:05:06Z' }));
    const first = await startServer(data.path, env);
    expect(await send(first, { batch })).toBe(200);
    expect(await send(first, { batch: history, historical_migration: true })).toBe(200);
    await first.kill();
    const second = await startServer(data.path, env);
    expect(await send(second, { batch })).toBe(200);
    await untilStored(second, { standard: 300, historical: 300 });
    const persons = await apiGet<{ results: readonly object[] }>(
      second,
      '/api/projects/@current/persons/?distinct_id=p9',
    );
    expect(persons.results).toMatchObject([
      { properties: { n: 299, nul: 'a\0b' }, created_at: '2021-02-03T04:05:06.000000Z' },
    ]);
    await expect(startServer(other.path, env)).rejects.toThrow('another running Millrace uses');
    expect((await second.terminate()).code).toBe(0);
  });
});
