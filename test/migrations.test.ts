/** The rule for migrations (CONTRIBUTING.md): programs of two releases use a store at the same time. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { usableFrom, type MigrationStep } from '../src/base/migration-step.ts';
import { programVersion } from '../src/base/program-version.ts';
import { migrations as ofEvents } from '../src/stores/events/migrate-store.ts';
import { clusterForm, singleForm } from '../src/stores/events/schema-form.ts';
import { migrations as ofMetadata, schemaVersion } from '../src/stores/metadata/migrate.ts';
import { openSqlite } from '../src/stores/metadata/sqlite.ts';
import { earlierDataFile } from './support/earlier-data.ts';
import { tempDataDir } from './support/server.ts';

const byVersion = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

/** Returns what breaks the rule, as sentences. */
function ruleFaults(list: readonly MigrationStep[], program: string): string[] {
  const names = list.map(({ name }) => name);
  return list.flatMap(({ name, since, kind }, at) => {
    const faults: string[] = [];
    if (names.indexOf(name) !== at) faults.push(`${name}: the name is taken`);
    if (byVersion(since, program) > 0) faults.push(`${name}: since ${since} is after ${program}`);
    const before = list[at - 1];
    if (before !== undefined && byVersion(before.since, since) > 0)
      faults.push(`${name}: since is before ${before.name}`);
    if (kind === 'expand') return faults;
    const first = list.slice(0, at).find((each) => each.name === kind.contract);
    if (first === undefined) faults.push(`${name}: no migration before it is named ${kind.contract}`);
    else if (byVersion(first.since, since) >= 0)
      faults.push(`${name}: ${first.name} must be part of an earlier release`);
    return faults;
  });
}

const expand = (name: string, since: string): MigrationStep => ({ name, since, kind: 'expand' });
const contract = (name: string, since: string, first: string): MigrationStep => ({
  name,
  since,
  kind: { contract: first },
});

describe('migrations', () => {
  it.each([
    ['metadata', ofMetadata],
    ['events', ofEvents],
  ])('of the %s keep the rule: what is removed was unused since an earlier release', (_store, list) => {
    expect(ruleFaults(list, programVersion())).toEqual([]);
  });

  it.each([
    [
      'a contraction in the release of its expansion',
      [expand('a', '0.2.0'), contract('b', '0.2.0', 'a')],
      'earlier release',
    ],
    [
      'a contraction before its expansion',
      [contract('b', '0.2.0', 'a'), expand('a', '0.2.0')],
      'no migration before it',
    ],
    ['a contraction without an expansion', [contract('b', '0.2.0', 'a')], 'no migration before it'],
    ['a migration of a later release', [expand('a', '0.11.0')], 'is after 0.10.0'],
    ['a migration that is older than the one before it', [expand('a', '0.10.0'), expand('b', '0.9.0')], 'is before a'],
    ['a name that is used twice', [expand('a', '0.9.0'), expand('a', '0.10.0')], 'taken'],
  ])('%s breaks the rule', (_what, list, fault) => {
    expect(ruleFaults(list, '0.10.0')).toEqual([expect.stringContaining(fault)]);
  });

  it('in two steps leave a store usable for the programs that no longer use what is removed', () => {
    const list = [
      expand('a', '0.1.0'),
      expand('b', '0.2.0'),
      contract('c', '0.3.0', 'a'),
      contract('d', '0.4.0', 'b'),
      expand('e', '0.5.0'),
    ];
    expect([10, 11, 12, 13, 14, 15].map((version) => usableFrom(list, 10, version))).toEqual([10, 10, 10, 11, 12, 12]);
    expect(ruleFaults(list, '0.5.0')).toEqual([]);
  });
});

interface Column {
  readonly name: string;
  readonly required: number;
}

/** Columns of each table, and unique indexes with their columns. */
function shapeOf(file: string): Map<string, { columns: Map<string, Column>; unique: string[][] }> {
  using database = new DatabaseSync(file, { readOnly: true });
  const rows = <T>(text: string, ...values: string[]): T[] => database.prepare(text).all(...values) as T[];
  const tables = rows<{ name: string }>(
    "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'",
  );
  return new Map(
    tables.map(({ name }) => {
      const columns = rows<Column>(
        `select name, "notnull" = 1 and dflt_value is null as required from pragma_table_xinfo(?)`,
        name,
      );
      const unique = rows<{ name: string }>('select name from pragma_index_list(?) where "unique" = 1', name);
      const of = (index: string): string[] =>
        rows<{ name: string }>('select name from pragma_index_info(?)', index).map((each) => each.name);
      return [
        name,
        { columns: new Map(columns.map((each) => [each.name, each])), unique: unique.map((each) => of(each.name)) },
      ];
    }),
  );
}

function unpackEarlier(directory: string): string {
  execFileSync('tar', [
    '-xzf',
    fileURLToPath(earlierDataFile),
    '-C',
    directory,
    '--wildcards',
    'data/metadata.sqlite*',
  ]);
  return join(directory, 'data/metadata.sqlite');
}

/** Returns how a step affects programs that do not know it. */
function differences(before: ReturnType<typeof shapeOf>, after: ReturnType<typeof shapeOf>): string[] {
  return [...before].flatMap(([table, { columns, unique }]) => {
    const now = after.get(table);
    if (now === undefined) return [`${table} was removed`];
    const removed = [...columns.keys()]
      .filter((name) => !now.columns.has(name))
      .map((name) => `${table}.${name} was removed`);
    const required = [...now.columns.values()]
      .filter(({ name, required: isRequired }) => isRequired === 1 && columns.get(name)?.required !== 1)
      .map(({ name }) => `${table}.${name} is required`);
    const known = new Set(unique.map((each) => each.join()));
    const restricted = now.unique
      .filter((each) => !known.has(each.join()) && each.every((name) => columns.has(name)))
      .map((each) => `${table} (${each.join(', ')}) is unique`);
    return removed.concat(required, restricted);
  });
}

describe('a migration that expands', () => {
  it('removes no table and no column of the metadata, and older programs can still write their rows', async () => {
    await using directory = await tempDataDir();
    const file = unpackEarlier(directory.path);
    await using db = openSqlite(file);
    const first = await sql<{ version: number }>`select max(version) as version from schema_version`.execute(db);
    const missing = ofMetadata.slice((first.rows[0]?.version ?? 0) - schemaVersion);
    expect(missing.length).toBeGreaterThan(5);
    for (const { name, kind, up } of missing) {
      const before = shapeOf(file);
      await db.transaction().execute((tx) => up(tx, 'sqlite'));
      const found = kind === 'expand' ? differences(before, shapeOf(file)) : [];
      expect([name, ...found]).toEqual([name]);
    }
  });

  it.each([
    ['drop table ingestion_warnings', 'ingestion_warnings was removed'],
    ['alter table organizations rename column name to title', 'organizations.name was removed'],
    ['create unique index one_name on organizations (name)', 'organizations (name) is unique'],
  ])('is found to break older programs: %s', async (statement, fault) => {
    await using directory = await tempDataDir();
    const file = unpackEarlier(directory.path);
    const before = shapeOf(file);
    await using db = openSqlite(file);
    await sql.raw(statement).execute(db);
    expect(differences(before, shapeOf(file))).toContain(fault);
  });

  it.each([
    ['one server', singleForm],
    ['a cluster', clusterForm({ cluster: 'main', database: 'millrace', weights: [1, 1] }, 'cityHash64(distinct_id)')],
  ])('only creates and adds in the tables of events, on %s', (_where, form) => {
    const adds =
      /^(CREATE TABLE IF NOT EXISTS|INSERT INTO|ALTER TABLE \S+( ON CLUSTER '\w+')?\s+(ADD|MATERIALIZE|MODIFY SETTING)) /;
    const expanding = ofEvents.filter(({ kind }) => kind === 'expand').flatMap(({ statements }) => statements(form));
    expect(expanding.filter((statement) => !adds.test(statement))).toEqual([]);
  });
});
