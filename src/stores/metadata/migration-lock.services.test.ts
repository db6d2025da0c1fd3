import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { describeOnPostgres, emptied } from '../../../test/support/postgres-database.ts';
import { migrate, schemaVersion } from './migrate.ts';
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
});
