import { sql, type ColumnDefinitionBuilder, type RawBuilder } from 'kysely';
import type { Queries } from '../queries.ts';

export type Dialect = 'sqlite' | 'postgres';

/** Where the dialects differ. Everything else in a migration is the same for both. */
export interface ColumnTypes {
  /** Number that the store hands out, never twice; 32-bit. */
  readonly id: 'integer';
  readonly generated: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder;
  readonly blob: 'blob' | 'bytea';
  /** Text that sorts by bytes, whatever the server's locale. */
  readonly text: RawBuilder<unknown> | 'text';
  /** Before `table`, of what may be lost when the server crashes. */
  readonly unlogged: RawBuilder<unknown>;
}

const sqliteTypes: ColumnTypes = {
  id: 'integer',
  generated: (column) => column.primaryKey().autoIncrement(),
  blob: 'blob',
  text: 'text',
  unlogged: sql``,
};

const postgresTypes: ColumnTypes = {
  id: 'integer',
  generated: (column) => column.generatedByDefaultAsIdentity().primaryKey(),
  blob: 'bytea',
  text: sql`text collate "C"`,
  unlogged: sql`unlogged`,
};

export const columnTypes: Readonly<Record<Dialect, ColumnTypes>> = { sqlite: sqliteTypes, postgres: postgresTypes };

export const required = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull();
export const key = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.primaryKey().notNull();
/** Refers to a row and goes with it. */
export const partOf =
  (target: string) =>
  (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder =>
    column.notNull().references(target).onDelete('cascade');

export async function createIndex(
  schema: Queries['schema'],
  table: string,
  name: string,
  columns: string[],
): Promise<void> {
  await schema.createIndex(name).on(table).columns(columns).execute();
}

/** Forward only; never changed once it has landed. */
export interface Migration {
  /** 1, 2, 3 …: the schema version after it. */
  readonly version: number;
  readonly name: string;
  /** Runs inside a transaction. */
  readonly up: (db: Queries, types: ColumnTypes) => Promise<void>;
}
