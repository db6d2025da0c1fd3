/**
 * Declares a table once: the declaration gives the type of its rows (`Rows`) and, through create-tables.ts, its schema in both
 * dialects. Columns are required unless they are nullable or have a default.
 */
import type { Generated } from 'kysely';

export type ColumnKind = 'serial' | 'integer' | 'bigint' | 'double' | 'text' | 'blob';

interface ColumnSpec {
  readonly kind: ColumnKind;
  readonly isNullable?: true;
  readonly isKey?: true;
  readonly isUnique?: true;
  readonly default?: string | number;
  /** `table.column` of the row that this one belongs to. */
  readonly references?: string;
  readonly isDeletedWithParent?: true;
}

/** @typeParam T what Kysely selects, inserts and updates */
export class Column<T> {
  /** Exists for the compiler only. */
  declare readonly type: T;
  readonly spec: ColumnSpec;

  constructor(spec: ColumnSpec) {
    this.spec = spec;
  }

  key(): Column<T> {
    return this.#with({ isKey: true });
  }
  unique(): Column<T> {
    return this.#with({ isUnique: true });
  }
  nullable(): Column<T | null> {
    return this.#with({ isNullable: true });
  }
  default(value: string | number): Column<Generated<T>> {
    return this.#with({ default: value });
  }
  /** The default only applies to rows that existed when the column was added: an insert must specify the value. */
  backfilled(value: string | number): Column<T> {
    return this.#with({ default: value });
  }
  references(target: string): Column<T> {
    return this.#with({ references: target });
  }
  /** References a row and is deleted with it. */
  partOf(target: string): Column<T> {
    return this.#with({ references: target, isDeletedWithParent: true });
  }

  #with<Other>(more: Partial<ColumnSpec>): Column<Other> {
    return new Column<Other>({ ...this.spec, ...more });
  }
}

/** The primary key: a 32-bit number that the store generates and never reuses. */
export const serial = (): Column<Generated<number>> => new Column({ kind: 'serial' });
// Overloads, because a type parameter with a default would be inferred as unknown in a declaration.
export function integer(): Column<number>;
export function integer<T>(): Column<T>;
export function integer<T>(): Column<T> {
  return new Column({ kind: 'integer' });
}
export const bigint = (): Column<number> => new Column({ kind: 'bigint' });
export const double = (): Column<number> => new Column({ kind: 'double' });
/** Sorts by bytes, regardless of the server's locale. */
export function text(): Column<string>;
export function text<T>(): Column<T>;
export function text<T>(): Column<T> {
  return new Column({ kind: 'text' });
}
export const blob = (): Column<Uint8Array> => new Column({ kind: 'blob' });

/** 0 or 1. */
export type Flag = number;
export const flag = (): Column<Flag> => integer();

type Columns = Readonly<Record<string, Column<unknown>>>;

export interface Index<Name extends string = string> {
  readonly columns: readonly Name[];
  readonly unique?: true;
  /** Only rows in which this column is null. */
  readonly whereNull?: Name;
}

interface TableOptions<Name extends string> {
  /** A primary key of several columns. A single one is marked with `key()`. */
  readonly primaryKey?: readonly Name[];
  /** `<table>_pk` unless specified. */
  readonly primaryKeyName?: string;
  readonly uniqueConstraints?: Readonly<Record<string, readonly Name[]>>;
  readonly indexes?: Readonly<Record<string, readonly Name[] | Index<Name>>>;
  /** May be lost when the server crashes (PostgreSQL). */
  readonly unlogged?: true;
}

export interface Table<C extends Columns = Columns> extends TableOptions<string> {
  readonly columns: C;
}

export function table<C extends Columns>(columns: C, options: TableOptions<keyof C & string> = {}): Table<C> {
  return { columns, ...options };
}

type Row<T extends Table> = { [Name in keyof T['columns']]: T['columns'][Name]['type'] };
/** What Kysely takes as its database: table → row. */
export type Rows<Tables extends Readonly<Record<string, Table>>> = { [Name in keyof Tables]: Row<Tables[Name]> };
