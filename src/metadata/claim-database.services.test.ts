import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../telemetry/log.ts';
import { claimDatabase, DatabaseTakenError } from './claim-database.ts';
import type { Metadata } from './database.ts';
import { openPostgres } from './postgres.ts';

const url = process.env.DATABASE_URL;
const reason = url === undefined ? ' (skipped: DATABASE_URL is not set)' : '';
const quick = { log: createLog('silent'), waitMsMax: 300, checkMs: 50 };

describe.skipIf(url === undefined)(`one service per PostgreSQL database${reason}`, () => {
  const name = `millrace_claim_${randomUUID().replaceAll('-', '')}`;
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

  it('a second service is refused with a sentence, and may start once the first has stopped', async () => {
    const first = await claimDatabase(db, quick);
    expect(first.held()).toBe(true);
    const refused = claimDatabase(other, quick);
    await expect(refused).rejects.toThrow(DatabaseTakenError);
    await expect(refused).rejects.toThrow('stop that one, or give this one a database of its own');
    const waiting = claimDatabase(other, { ...quick, waitMsMax: 10_000 });
    await first.release();
    expect(first.held()).toBe(false);
    await (await waiting).release();
  });

  it('a claim whose connection was lost is made again', async () => {
    const claim = await claimDatabase(db, quick);
    await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = ${name})`.execute(server);
    await expect.poll(() => claim.held(), { interval: 1 }).toBe(false);
    await expect.poll(() => claim.held()).toBe(true);
    await expect(claimDatabase(other, quick)).rejects.toThrow(DatabaseTakenError);
    await claim.release();
  });

  it('another database is another claim', async () => {
    const claim = await claimDatabase(db, quick);
    const elsewhere = await claimDatabase(server, quick);
    expect([claim.held(), elsewhere.held()]).toEqual([true, true]);
    await elsewhere.release();
    await claim.release();
  });
});
