import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testMetadata } from './conformance.ts';
import type { Metadata } from './database.ts';
import { openPostgres } from './postgres.ts';

const url = process.env.DATABASE_URL;
const reason = url === undefined ? ' (skipped: DATABASE_URL is not set)' : '';

describe.skipIf(url === undefined)(`the metadata store on PostgreSQL${reason}`, () => {
  // A database of its own per run; each test gets an empty schema in it.
  const name = `millrace_test_${randomUUID().replaceAll('-', '')}`;
  let server: Metadata;
  let db: Metadata;
  let other: Metadata;

  beforeAll(async () => {
    const own = new URL(url ?? '');
    server = openPostgres(own.href);
    await sql`create database ${sql.id(name)}`.execute(server);
    own.pathname = `/${name}`;
    db = openPostgres(own.href);
    other = openPostgres(own.href);
  });
  afterAll(async () => {
    await Promise.all([db.destroy(), other.destroy()]);
    await sql`drop database ${sql.id(name)} with (force)`.execute(server);
    await server.destroy();
  });

  testMetadata({
    dialect: 'postgres',
    nul: 'replaced',
    async open() {
      await sql`drop schema public cascade`.execute(db);
      await sql`create schema public`.execute(db);
      return { db, other, [Symbol.asyncDispose]: async () => undefined };
    },
  });

  it('an integer that a number cannot hold is an error, never another number', async () => {
    await expect(sql`select 9007199254740993::bigint as n`.execute(db)).rejects.toThrow('got: 9007199254740993');
  });

  it('a connection lost between two queries of a transaction fails the transaction and nothing else', async () => {
    const lost: Error[] = [];
    const own = new URL(url ?? '');
    const store = openPostgres(own.href, { onConnectionLost: (error) => lost.push(error) });
    const broken = store.transaction().execute(async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(server);
      await expect.poll(() => lost.length).toBe(1);
      await sql`select 1`.execute(tx);
    });
    await expect(broken).rejects.toThrow(/terminat|not queryable/i);
    expect((await sql<{ n: number }>`select 1 as n`.execute(store)).rows).toMatchObject([{ n: 1 }]);
    expect(lost).toHaveLength(1);
    await store.destroy();
  });

  it('the loss of an idle connection is reported and does not end the process', async () => {
    const lost: Error[] = [];
    const own = new URL(url ?? '');
    const store = openPostgres(own.href, { onConnectionLost: (error) => lost.push(error) });
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(store);
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(server);
    await expect.poll(() => lost.length).toBe(1);
    expect((await sql<{ n: number }>`select 1 as n`.execute(store)).rows).toMatchObject([{ n: 1 }]);
    await store.destroy();
  });
});
