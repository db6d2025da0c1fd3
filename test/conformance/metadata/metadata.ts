import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDatabaseClock, readDatabaseTime } from '../../../src/stores/metadata/database-clock.ts';
import type { Database, Dialect, Metadata } from '../../../src/stores/metadata/database.ts';
import {
  migrate,
  migrations,
  schemaVersion,
  SchemaVersionError,
  type Migration,
} from '../../../src/stores/metadata/migrate.ts';
import { writeReport } from '../../../src/stores/metadata/service-processes.ts';
import { testNamedLeases } from './named-leases.ts';
import { organizationRow, sampleConfig, samplePlugin } from '../../support/metadata-rows.ts';
import { testCredentials } from './credentials.ts';
import { testOidcUsers } from './oidc-users.ts';
import { testProjects } from './projects.ts';
import { testSlotLeases, testSlots } from './slots.ts';
import { testUsers } from './users.ts';
import { isUniqueViolation } from '../../support/unique-violation.ts';

/** An empty store, not migrated yet. */
export interface EmptyStore extends AsyncDisposable {
  readonly db: Metadata;
  /** The same store, opened as another process would; `db` itself if only one handle is possible. */
  readonly other: Metadata;
}

export interface ConformanceDeps {
  readonly dialect: Dialect;
  readonly open: () => Promise<EmptyStore>;
  /** How text with a NUL is returned. */
  readonly nul: 'kept' | 'replaced';
}

/** The promises of every metadata store. Real stores only. */
export function testMetadata(deps: ConformanceDeps): void {
  const use = (): { db: Metadata; other: Metadata } => store;
  let store: EmptyStore;

  describe('an empty store', () => {
    beforeEach(async () => {
      store = await deps.open();
    });
    afterEach(() => store[Symbol.asyncDispose]());
    testMigrations(use, deps.dialect);
  });

  describe('a migrated store', () => {
    beforeEach(async () => {
      store = await deps.open();
      await migrate(store.db, deps.dialect);
    });
    afterEach(() => store[Symbol.asyncDispose]());
    testValues(use, deps.nul);
    testTransactions(use);
    testClock(use);
    testNamedLeases(use);
    testUniqueViolations(use);
    testProjects(use);
    testCredentials(use);
    testUsers(use);
    testOidcUsers(use);
    testSlots(use);
    testSlotLeases(use);
  });
}

function testClock(use: Use): void {
  it('returns the time, which advances within a transaction', async () => {
    const { db } = use();
    const before = Date.now();
    const time = await createDatabaseClock(db).now();
    // The store runs on this machine and reads its clock in its own way.
    expect(time).toBeGreaterThan(before - 5000);
    expect(time).toBeLessThan(Date.now() + 5000);
    const passed = await db.transaction().execute(async (tx) => {
      const first = await readDatabaseTime(tx);
      await delay(50);
      return (await readDatabaseTime(tx)) - first;
    });
    expect(passed).toBeGreaterThanOrEqual(40);
  });
}

export type Use = () => { readonly db: Metadata; readonly other: Metadata };

/** The schema of the oldest version that can be migrated. */
const oldestVersion = 23;

function testMigrations(use: Use, dialect: Dialect): void {
  it('migrating twice has the effect of once', async () => {
    const { db } = use();
    await migrate(db, dialect);
    await db.insertInto('organizations').values(organizationRow).execute();
    await migrate(db, dialect);
    expect(await db.selectFrom('organizations').selectAll().execute()).toMatchObject([organizationRow]);
    expect(await appliedVersions(db)).toEqual([schemaVersion]);
  });

  it('two processes that start concurrently migrate once', async () => {
    const { db, other } = use();
    await Promise.all([migrate(db, dialect), migrate(other, dialect), migrate(db, dialect)]);
    expect(await appliedVersions(other)).toEqual([schemaVersion]);
    expect(await db.selectFrom('config_revisions').selectAll().execute()).toMatchObject([{ id: 1, revision: 0 }]);
  });

  it('starts with both lanes at the start of the log', async () => {
    const { db } = use();
    await migrate(db, dialect);
    expect(await db.selectFrom('log_cursors').selectAll().orderBy('lane').execute()).toMatchObject([
      { lane: 'historical', seq: 0, pending: '[]' },
      { lane: 'live', seq: 0, pending: '[]' },
    ]);
  });

  it('a store that was migrated version by version, with its own history of migrations, continues with its rows', async () => {
    const { db } = use();
    await migrate(db, dialect);
    await setVersions(
      db,
      Array.from({ length: schemaVersion }, (_, index) => index + 1),
    );
    await db.insertInto('organizations').values(organizationRow).execute();
    await migrate(db, dialect);
    expect(await db.selectFrom('organizations').selectAll().execute()).toMatchObject([organizationRow]);
    expect((await appliedVersions(db)).at(-1)).toBe(schemaVersion);
  });

  it('a store with an older schema is refused unchanged, with its version and the commit that migrates it', async () => {
    const { db } = use();
    await migrate(db, dialect);
    const versions = Array.from({ length: oldestVersion - 1 }, (_, index) => index + 1);
    await setVersions(db, versions);
    const refusal = migrate(db, dialect);
    await expect(refusal).rejects.toBeInstanceOf(SchemaVersionError);
    await expect(refusal).rejects.toThrow(
      /version 23 or newer, got version 22: .* check out commit [0-9a-f]{7}, .* start and stop it on this store once/,
    );
    expect(await appliedVersions(db)).toEqual(versions);
  });

  it('an older program refuses a newer schema with what to do', async () => {
    const { db } = use();
    await migrate(db, dialect);
    const newer = schemaVersion + 1;
    await sql`insert into schema_version (version, name, applied_at) values (${newer}, 'later', 'later')`.execute(db);
    const refusal = migrate(db, dialect);
    await expect(refusal).rejects.toBeInstanceOf(SchemaVersionError);
    await expect(refusal).rejects.toThrow(
      `got version ${newer}: the store was written by a newer Millrace, and only programs of schema ${newer} or newer can use it; start that`,
    );
  });

  it('a program starts on a schema that a newer one has expanded, and is refused once a later one has contracted it', async () => {
    const { db, other } = use();
    await migrate(db, dialect);
    await migrate(other, dialect, [...migrations, expand]);
    await db.insertInto('organizations').values(organizationRow).execute();
    expect(await migrate(db, dialect)).toBe(schemaVersion + 1);
    expect(await db.selectFrom('organizations').selectAll().execute()).toMatchObject([organizationRow]);
    const newer = [...migrations, expand, contract];
    await migrate(other, dialect, newer);
    await expect(migrate(db, dialect)).rejects.toThrow(
      `got version ${schemaVersion + 2}: the store was written by a newer Millrace, and only programs of schema ${schemaVersion + 1} or newer`,
    );
    expect(await migrate(db, dialect, [...migrations, expand])).toBe(schemaVersion + 2);
  });

  it('a migration that removes something changes nothing while a process runs that uses it', async () => {
    const { db, other } = use();
    await migrate(db, dialect, [...migrations, expand]);
    const newer = [...migrations, expand, contract];
    const report = (more: object): string =>
      JSON.stringify({ form: 1, report: { name: 'ö:8000', version: '0.1.0', ...more } });
    for (const older of [{}, { schema: schemaVersion }]) {
      await writeReport(other, 'old', report(older));
      await expect(migrate(db, dialect, newer)).rejects.toThrow(
        `expected all running processes to support metadata schema ${schemaVersion + 1} or newer, got ö:8000 (Millrace 0.1.0)`,
      );
      expect((await appliedVersions(db)).at(-1)).toBe(schemaVersion + 1);
    }
    await writeReport(other, 'old', report({ schema: schemaVersion + 1 }));
    expect(await migrate(db, dialect, newer)).toBe(schemaVersion + 2);
  });
}

/** Migrations of later versions of the program. */
const expand: Migration = {
  name: 'nickname of an organization',
  since: '0.2.0',
  kind: 'expand',
  up: ({ schema }) => schema.alterTable('organizations').addColumn('nickname', 'text').execute(),
};
const contract: Migration = {
  name: 'no nickname of an organization',
  since: '0.3.0',
  kind: { contract: expand.name },
  up: ({ schema }) => schema.alterTable('organizations').dropColumn('nickname').execute(),
};

async function setVersions(db: Metadata, versions: readonly number[]): Promise<void> {
  await sql`delete from schema_version`.execute(db);
  for (const version of versions) {
    await sql`insert into schema_version (version, name, applied_at) values (${version}, 'earlier', '')`.execute(db);
  }
}

async function appliedVersions(db: Metadata): Promise<number[]> {
  const { rows } = await sql<{ version: number }>`select version from schema_version order by version`.execute(db);
  return rows.map((row) => row.version);
}

function testValues(use: Use, nul: ConformanceDeps['nul']): void {
  it('keeps integers up to 2^53 - 1, null and text with unusual characters', async () => {
    const { db } = use();
    const unusual = 'naïve 漢字 🙂 " \' \\ \n\t; drop table persons; --';
    await db
      .insertInto('persons')
      .values([
        { project_id: 1, uuid: unusual, created_at_micros: Number.MAX_SAFE_INTEGER, is_identified: 1, registers: '{}' },
        { project_id: 1, uuid: 'b', created_at_micros: Number.MIN_SAFE_INTEGER, is_identified: 0, registers: unusual },
      ])
      .execute();
    const rows = await db.selectFrom('persons').selectAll().orderBy('created_at_micros').execute();
    expect(rows).toMatchObject([
      { uuid: 'b', created_at_micros: Number.MIN_SAFE_INTEGER, is_identified: 0, registers: unusual },
      { uuid: unusual, created_at_micros: 9_007_199_254_740_991, is_identified: 1 },
    ]);
  });

  it('returns counts and sums as numbers', async () => {
    const { db } = use();
    const count = 4_000_000_000_000;
    const warning = { project_id: 1, hour: 'h', count, last_seen: 't', samples: '[]' };
    const rows = [
      { ...warning, type: 'a' },
      { ...warning, type: 'b' },
    ];
    await db.insertInto('ingestion_warnings').values(rows).execute();
    const totals = await db
      .selectFrom('ingestion_warnings')
      .select(({ fn }) => [fn.countAll<number>().as('rows'), fn.sum<number>('count').as('sum')])
      .executeTakeFirstOrThrow();
    expect(totals).toMatchObject({ rows: 2, sum: 2 * count });
  });

  it('returns bytes unchanged as a plain Uint8Array', async () => {
    const { db } = use();
    const original = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
    for (const [id, bytes] of [['all', original] as const, ['none', new Uint8Array(0)] as const]) {
      await db.insertInto('dead_letters').values(deadLetter(id, bytes)).execute();
    }
    const rows = await db.selectFrom('dead_letters').select(['id', 'original']).orderBy('id').execute();
    expect(rows.map((row) => row.original)).toEqual([original, new Uint8Array(0)]);
    expect(rows[0]?.original.constructor).toBe(Uint8Array);
  });

  it(`text with a NUL is stored, the NUL ${nul}`, async () => {
    const { db } = use();
    const row = { project_id: 1, distinct_id: 'a\0b', person_uuid: 'p' };
    await db.insertInto('person_distinct_ids').values(row).execute();
    const found = await db.selectFrom('person_distinct_ids').selectAll().where('distinct_id', '=', 'a\0b').execute();
    expect(found.map((each) => each.distinct_id)).toEqual([nul === 'kept' ? 'a\0b' : 'a\uFFFDb']);
  });

  it('sorts text by its bytes', async () => {
    const { db } = use();
    const ids = ['b', 'B', 'a_1', 'a-2', 'A', 'ä', '_'];
    const rows = ids.map((distinct_id) => ({ project_id: 1, distinct_id, person_uuid: 'p' }));
    await db.insertInto('person_distinct_ids').values(rows).execute();
    const sorted = await db.selectFrom('person_distinct_ids').select('distinct_id').orderBy('distinct_id').execute();
    expect(sorted.map((row) => row.distinct_id)).toEqual(['A', 'B', '_', 'a-2', 'a_1', 'b', 'ä']);
  });

  it('never reuses ids, even after the last row is deleted', async () => {
    const { db } = use();
    const plugin = { ...samplePlugin, slug: 'first' };
    const first = await db.insertInto('plugins').values(plugin).returning('id').executeTakeFirstOrThrow();
    await db.deleteFrom('plugins').execute();
    const second = await db.insertInto('plugins').values(plugin).returning('id').executeTakeFirstOrThrow();
    expect(second.id).toBe(first.id + 1);
  });
}

function testTransactions(use: Use): void {
  it('a transaction that throws leaves nothing', async () => {
    const { db } = use();
    const failing = db.transaction().execute(async (tx) => {
      await tx.insertInto('organizations').values(organizationRow).execute();
      expect(await tx.selectFrom('organizations').select('id').execute()).toHaveLength(1);
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect(await db.selectFrom('organizations').select('id').execute()).toEqual([]);
  });

  it('a transaction with a failing statement leaves nothing and blocks no other', async () => {
    const { db } = use();
    const failing = db.transaction().execute(async (tx) => {
      await tx.insertInto('organizations').values(organizationRow).execute();
      await tx.insertInto('organizations').values(organizationRow).execute();
    });
    await expect(failing).rejects.toSatisfy(isUniqueViolation);
    await db.insertInto('organizations').values(organizationRow).execute();
  });

  it('part of a transaction can be rolled back', async () => {
    const { db } = use();
    const tx = await db.startTransaction().execute();
    await tx.insertInto('organizations').values(organizationRow).execute();
    const saved = await tx.savepoint('before "it"').execute();
    await saved.deleteFrom('organizations').execute();
    await saved.rollbackToSavepoint('before "it"').execute();
    await tx.commit().execute();
    expect(await db.selectFrom('organizations').select('id').execute()).toHaveLength(1);
  });

  it('concurrent writers on two handles lose no update', async () => {
    const { db, other } = use();
    const add = async (store: Metadata): Promise<void> => {
      await store.transaction().execute(async (tx) => {
        await tx.updateTable('log_cursors').set({ pending: '[1]' }).where('lane', '=', 'live').execute();
        const row = await tx.selectFrom('log_cursors').select('seq').where('lane', '=', 'live').executeTakeFirst();
        await tx
          .updateTable('log_cursors')
          .set({ seq: (row?.seq ?? 0) + 1 })
          .where('lane', '=', 'live')
          .execute();
      });
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => add(index % 2 === 0 ? db : other)));
    const { seq } = await db
      .selectFrom('log_cursors')
      .select('seq')
      .where('lane', '=', 'live')
      .executeTakeFirstOrThrow();
    expect(seq).toBe(40);
  });

  it('a read after a write sees it, on either handle', async () => {
    const { db, other } = use();
    const seqOf = async (store: Metadata): Promise<number | undefined> =>
      (await store.selectFrom('log_cursors').select('seq').where('lane', '=', 'live').executeTakeFirst())?.seq;
    for (let seq = 1; seq <= 20; seq += 1) {
      await db.updateTable('log_cursors').set({ seq }).where('lane', '=', 'live').execute();
      expect([await seqOf(db), await seqOf(other)]).toEqual([seq, seq]);
    }
  });
}

function testUniqueViolations(use: Use): void {
  it('distinguishes unique violations from other errors', async () => {
    const { db } = use();
    await db.insertInto('organizations').values(organizationRow).execute();
    const faultOf = (work: Promise<unknown>): Promise<unknown> =>
      work.then(
        () => undefined,
        (error: unknown) => error,
      );
    const again = await faultOf(db.insertInto('organizations').values(organizationRow).execute());
    const plugin = db.insertInto('plugins').values(samplePlugin);
    await plugin.execute();
    const sameSlug = await faultOf(plugin.execute());
    const noProject = await faultOf(db.insertInto('plugin_configs').values(sampleConfig(77, 1)).execute());
    const noName = await faultOf(sql`insert into organizations (id, created_at) values ('x', 'y')`.execute(db));
    const noTable = await faultOf(sql`select * from nowhere`.execute(db));
    expect([again, sameSlug].map(isUniqueViolation)).toEqual([true, true]);
    expect([noProject, noName, noTable].every((fault) => fault instanceof Error)).toBe(true);
    expect([noProject, noName, noTable, undefined, 'text'].map(isUniqueViolation)).not.toContain(true);
  });
}

function deadLetter(id: string, original: Uint8Array): Database['dead_letters'] {
  const none = { attr: null, event: null, distinct_id: null, event_uuid: null, decided_at: null, replay_id: null };
  const time = '2026-11-20T10:00:00.000000Z';
  return {
    ...none,
    id,
    project_id: 1,
    lane: 'live',
    reason: 'r',
    detail: 'd',
    rows_stored: 0,
    original,
    received_at: time,
    state: 'open',
  };
}
