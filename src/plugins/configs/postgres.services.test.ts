import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe } from 'vitest';
import type { Metadata } from '../../metadata/database.ts';
import { openPostgres } from '../../metadata/postgres.ts';
import { testPluginConfigs } from './conformance.ts';

const url = process.env.DATABASE_URL;
const reason = url === undefined ? ' (skipped: DATABASE_URL is not set)' : '';

describe.skipIf(url === undefined)(`on PostgreSQL${reason}`, () => {
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

  testPluginConfigs('postgres', async () => {
    await sql`drop schema public cascade`.execute(db);
    await sql`create schema public`.execute(db);
    return { db, other, [Symbol.asyncDispose]: async () => undefined };
  });
});
