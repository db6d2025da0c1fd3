import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { testMetadata } from '../../../test/conformance/metadata/metadata.ts';
import { openPostgres } from './postgres.ts';

describeOnPostgres('the metadata store on PostgreSQL', (database) => {
  const { db, server, url } = database;

  testMetadata({
    dialect: 'postgres',
    nul: 'replaced',
    open: () => emptied(database),
  });

  it('an integer beyond 2^53 is an error, never another number', async () => {
    await expect(sql`select 9007199254740993::bigint as n`.execute(db)).rejects.toThrow('got: 9007199254740993');
  });

  it('a connection lost between two queries of a transaction only fails that transaction', async () => {
    const lost: Error[] = [];
    const store = openPostgres(url, { onConnectionLost: (error) => lost.push(error) });
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
    const store = openPostgres(url, { onConnectionLost: (error) => lost.push(error) });
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(store);
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(server);
    await expect.poll(() => lost.length).toBe(1);
    expect((await sql<{ n: number }>`select 1 as n`.execute(store)).rows).toMatchObject([{ n: 1 }]);
    await store.destroy();
  });
});
