import {
  sql,
  type ColumnDataType,
  type ColumnDefinitionBuilder,
  type CreateTableBuilder,
  type RawBuilder,
} from 'kysely';
import type { Dialect } from '../database.ts';
import type { Queries } from '../queries.ts';
import type { Column, ColumnKind, Index, Table } from './table.ts';

type SqlType = ColumnDataType | RawBuilder<unknown>;

const sqlTypes: Readonly<Record<Dialect, Readonly<Record<ColumnKind, SqlType>>>> = {
  sqlite: { ...shared(), text: 'text', blob: 'blob' },
  postgres: { ...shared(), text: sql`text collate "C"`, blob: 'bytea' },
};

function shared(): Record<'serial' | 'integer' | 'bigint' | 'double', SqlType> {
  return { serial: 'integer', integer: 'integer', bigint: 'bigint', double: 'double precision' };
}

/** Creates the tables in the order of their declaration: a table comes after those that it references. */
export async function createTables(
  db: Queries,
  dialect: Dialect,
  tables: Readonly<Record<string, Table>>,
): Promise<void> {
  for (const [name, table] of Object.entries(tables)) {
    await createTable(db, dialect, name, table);
    for (const [index, columns] of Object.entries(table.indexes ?? {})) {
      await createIndex(db, name, index, 'columns' in columns ? columns : { columns });
    }
  }
}

async function createTable({ schema }: Queries, dialect: Dialect, name: string, table: Table): Promise<void> {
  let creating: CreateTableBuilder<string, string> = schema.createTable(name);
  if (table.unlogged && dialect === 'postgres') creating = creating.modifyFront(sql`unlogged`);
  for (const [column, { spec }] of Object.entries(table.columns)) {
    creating = creating.addColumn(column, sqlTypes[dialect][spec.kind], (builder) => define(builder, spec, dialect));
  }
  if (table.primaryKey !== undefined) {
    creating = creating.addPrimaryKeyConstraint(table.primaryKeyName ?? `${name}_pk`, [...table.primaryKey]);
  }
  for (const [constraint, columns] of Object.entries(table.uniqueConstraints ?? {})) {
    creating = creating.addUniqueConstraint(constraint, [...columns]);
  }
  await creating.execute();
}

function define(
  builder: ColumnDefinitionBuilder,
  spec: Column<unknown>['spec'],
  dialect: Dialect,
): ColumnDefinitionBuilder {
  if (spec.kind === 'serial') {
    return dialect === 'sqlite'
      ? builder.primaryKey().autoIncrement()
      : builder.generatedByDefaultAsIdentity().primaryKey();
  }
  let defined = spec.isKey ? builder.primaryKey() : builder;
  if (!spec.isNullable) defined = defined.notNull();
  if (spec.isUnique) defined = defined.unique();
  if (spec.default !== undefined) defined = defined.defaultTo(sql.lit(spec.default));
  if (spec.references === undefined) return defined;
  defined = defined.references(spec.references);
  return spec.isDeletedWithParent ? defined.onDelete('cascade') : defined;
}

async function createIndex(
  { schema }: Queries,
  table: string,
  name: string,
  { columns, unique, whereNull }: Index,
): Promise<void> {
  let creating = schema
    .createIndex(name)
    .on(table)
    .columns([...columns]);
  if (unique) creating = creating.unique();
  if (whereNull !== undefined) creating = creating.where(sql.ref(whereNull), 'is', null);
  await creating.execute();
}
