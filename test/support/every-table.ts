import { sql } from 'kysely';
import type { Metadata } from '../../src/stores/metadata/database.ts';

interface Column {
  readonly name: string;
  readonly type: string;
}

const rowsPerTable = 3;
/** Made by the migrations, or of the store itself. */
const leftAlone = new Set(['schema_version', 'slots', 'log_cursors', 'config_revisions']);

/**
 * Rows in every table of an SQLite store, whatever tables there are: unusual texts, numbers beyond 32 bits, bytes; what refers to
 * another table refers to one of its rows.
 */
export async function fillEveryTable(db: Metadata): Promise<void> {
  const { rows } = await sql<{ name: string }>`select name from sqlite_master
    where type = 'table' and name not like 'sqlite_%' order by rowid`.execute(db);
  const waiting = rows.map(({ name }) => name).filter((name) => !leftAlone.has(name));
  const filled = new Set<string>(leftAlone);
  while (waiting.length > 0) {
    const name = waiting.shift() as string;
    const parents = await parentsOf(db, name);
    if ([...parents.values()].some(({ table }) => table !== name && !filled.has(table))) {
      waiting.push(name);
      continue;
    }
    await fill(db, name, parents);
    filled.add(name);
  }
}

interface Parent {
  readonly table: string;
  readonly column: string;
}

async function parentsOf(db: Metadata, name: string): Promise<Map<string, Parent>> {
  const { rows } = await sql<{ from: string; table: string; to: string }>`select "from", "table", "to"
    from pragma_foreign_key_list(${name})`.execute(db);
  return new Map(rows.map((row) => [row.from, { table: row.table, column: row.to ?? 'id' }]));
}

async function fill(db: Metadata, name: string, parents: ReadonlyMap<string, Parent>): Promise<void> {
  const { rows: columns } = await sql<Column>`select name, type from pragma_table_info(${name})`.execute(db);
  for (let n = 0; n < rowsPerTable; n++) {
    const values = await Promise.all(columns.map((column) => valueOf(db, name, column, parents.get(column.name), n)));
    await sql`insert into ${sql.table(name)} (${sql.join(columns.map((column) => sql.ref(column.name)))})
      values (${sql.join(values.map((value) => sql.val(value)))})`.execute(db);
  }
}

async function valueOf(db: Metadata, table: string, { name, type }: Column, parent: Parent | undefined, n: number) {
  if (parent !== undefined && parent.table !== table) {
    const { rows } = await sql<{ value: unknown }>`select ${sql.ref(parent.column)} as value
      from ${sql.table(parent.table)} order by 1 limit 1 offset ${n}`.execute(db);
    return rows[0]?.value;
  }
  if (parent !== undefined) return null;
  if (/blob/i.test(type)) return new Uint8Array([0, n, 255]);
  if (/bigint/i.test(type)) return 9_007_199_254_740_991 - n;
  if (/int/i.test(type)) return 100 + n;
  if (/real|double|float/i.test(type)) return 0.1 + n;
  // A NUL, which PostgreSQL's text cannot hold, where it is no part of a key.
  return /^(message|description|detail|note|error)$/.test(name) ? `nul \0 ${n}` : `${table}-${name}-${n}`;
}
