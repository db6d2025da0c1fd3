import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { migrate, migrations, schemaVersion, type Migration } from './migrate.ts';
import { withMigrationLock } from './migration-lock.ts';

describeOnPostgres('processes that migrate concurrently', (database) => {
  it('migrate one after the other, log that they wait, and all find the schema of the program', async () => {
    await using stores = await emptied(database);
    const said: string[] = [];
    const log = { info: (sentence: string) => void said.push(sentence) };
    let working = 0;
    let most = 0;
    const start = (db: typeof stores.db): Promise<void> =>
      withMigrationLock({ db, dialect: 'postgres', log }, async () => {
        most = Math.max(most, (working += 1));
        await migrate(db, 'postgres');
        await sleep(300);
        working -= 1;
      });
    await Promise.all([start(stores.db), start(stores.other)]);
    expect([most, said]).toEqual([1, ['waiting for another process to migrate the stores']]);
    const applied = await sql<{ version: number }>`select version from schema_version`.execute(stores.db);
    expect(applied.rows).toEqual([{ version: schemaVersion }]);
  });

  it('a failed one lets the next one try', async () => {
    await using stores = await emptied(database);
    const deps = { dialect: 'postgres', log: { info: () => undefined } } as const;
    const failing = withMigrationLock({ ...deps, db: stores.db }, async () => {
      throw new Error('a broken migration');
    });
    await expect(failing).rejects.toThrow('a broken migration');
    expect(await withMigrationLock({ ...deps, db: stores.other }, async () => 'done')).toBe('done');
  });

  it('a migration that waits for a long transaction does not block the processes that use its table', async () => {
    await using stores = await emptied(database);
    await migrate(stores.db, 'postgres');
    const later: Migration = {
      name: 'later',
      since: '0.2.0',
      kind: 'expand',
      up: ({ schema }) => schema.alterTable('sessions').addColumn('later', 'text').execute(),
    };
    let migrating: Promise<number> = Promise.resolve(0);
    await stores.other.transaction().execute(async (long) => {
      await long.selectFrom('sessions').selectAll().execute();
      migrating = migrate(stores.db, 'postgres', [...migrations, later]);
      const waiting = sql`select pid from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter table%'`;
      await expect.poll(async () => (await waiting.execute(stores.other)).rows.length, { timeout: 30_000 }).toBe(1);
      // Queued behind the migration, which would otherwise wait until this transaction ends.
      expect(await stores.other.selectFrom('sessions').selectAll().execute()).toEqual([]);
    });
    expect(await migrating).toBe(schemaVersion + 1);
  });
});
