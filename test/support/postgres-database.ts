import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe } from 'vitest';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { openPostgres } from '../../src/stores/metadata/postgres.ts';

/** A separate database on the server of DATABASE_URL, which exists while the tests run. */
export interface PostgresDatabase {
  readonly name: string;
  readonly url: string;
  readonly db: Metadata;
  /** Another handle on it, as another process has one. */
  readonly other: Metadata;
  /** The database that DATABASE_URL names. */
  readonly server: Metadata;
}

/** Skipped, saying so, when there is no server. */
export function describeOnPostgres(what: string, tests: (database: PostgresDatabase) => void): void {
  const url = process.env.DATABASE_URL;
  const reason = url === undefined ? ' (skipped: DATABASE_URL is not set)' : '';
  describe.skipIf(url === undefined)(`${what}${reason}`, () => {
    // Connects with the first query; a skipped suite has none.
    tests(useDatabase(url ?? 'postgres://127.0.0.1/none'));
  });
}

/** Until the tests of this block have ended. */
export function useDatabase(serverUrl: string): PostgresDatabase {
  const name = `millrace_test_${randomUUID().replaceAll('-', '')}`;
  const { href: url } = Object.assign(new URL(serverUrl), { pathname: `/${name}` });
  const server = openPostgres(serverUrl);
  const db = openPostgres(url);
  const other = openPostgres(url);
  beforeAll(async () => {
    await sql`create database ${sql.id(name)}`.execute(server);
  });
  afterAll(async () => {
    await Promise.all([db.destroy(), other.destroy()]);
    await sql`drop database ${sql.id(name)} with (force)`.execute(server);
    await server.destroy();
  });
  return { name, url, db, other, server };
}

/** The database without a table, for each test one after the other. */
export async function emptied({ db, other }: PostgresDatabase) {
  await sql`drop schema public cascade`.execute(db);
  await sql`create schema public`.execute(db);
  return { db, other, [Symbol.asyncDispose]: async () => undefined };
}
