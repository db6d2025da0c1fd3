import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { claimDatabase, DatabaseTakenError } from './claim-database.ts';

const quick = { log: createLog('silent'), sharing: 'alone', waitMsMax: 300, checkMs: 50 } as const;
const shared = { ...quick, sharing: 'together' } as const;

describeOnPostgres('one service per PostgreSQL database', ({ name, db, other, server }) => {
  it('a second service is refused with a message and can start once the first has stopped', async () => {
    const first = await claimDatabase(db, quick);
    expect(first.held()).toBe(true);
    const refused = claimDatabase(other, quick);
    await expect(refused).rejects.toThrow(DatabaseTakenError);
    await expect(refused).rejects.toThrow('stop that one, or give this one a separate database');
    const waiting = claimDatabase(other, { ...quick, waitMsMax: 10_000 });
    await first.release();
    expect(first.held()).toBe(false);
    await (await waiting).release();
  });

  it('a claim whose connection was lost is renewed', async () => {
    const claim = await claimDatabase(db, quick);
    await sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = ${name})`.execute(server);
    await expect.poll(() => claim.held(), { interval: 1 }).toBe(false);
    await expect.poll(() => claim.held()).toBe(true);
    await expect(claimDatabase(other, quick)).rejects.toThrow(DatabaseTakenError);
    await claim.release();
  });

  it('processes of a cluster coexist, and exclude a standalone service and vice versa', async () => {
    const members = [await claimDatabase(db, shared), await claimDatabase(other, shared)];
    expect(members.map((each) => each.held())).toEqual([true, true]);
    await expect(claimDatabase(other, quick)).rejects.toThrow('another running Millrace uses');
    await members[0]?.release();
    await expect(claimDatabase(db, quick)).rejects.toThrow(DatabaseTakenError);
    await members[1]?.release();
    const alone = await claimDatabase(db, quick);
    const refused = claimDatabase(other, shared);
    await expect(refused).rejects.toThrow(DatabaseTakenError);
    await expect(refused).rejects.toThrow('a running Millrace without KAFKA_BROKERS');
    await alone.release();
  });

  it('another database has a separate claim', async () => {
    const claim = await claimDatabase(db, quick);
    const elsewhere = await claimDatabase(server, quick);
    expect([claim.held(), elsewhere.held()]).toEqual([true, true]);
    await elsewhere.release();
    await claim.release();
  });
});
