import { CompiledQuery, type Compilable, type DialectAdapter } from 'kysely';
import { assert } from '../../base/assert.ts';
import type { Queries } from './queries.ts';

/** Represents the parameter with this number while a query is built. */
type Place = number;

/**
 * Compiles a frequent query whose text depends only on the number of its parameters: it is built once per number, since building one
 * with a thousand parameters costs as much as running it. `build` must use every place once, in order. Parameters are passed
 * unchanged: strings must not contain NUL.
 */
export function compiledSql<Row>(build: (db: Queries, places: readonly Place[]) => Compilable<Row>) {
  const texts = new WeakMap<DialectAdapter, Map<number, string>>();
  const textOf = (db: Queries, count: number): string => {
    const { adapter } = db.getExecutor();
    const known = texts.get(adapter) ?? new Map<number, string>();
    texts.set(adapter, known);
    const text = known.get(count) ?? compile(db, count);
    known.set(count, text);
    return text;
  };
  const compile = (db: Queries, count: number): string => {
    const { sql, parameters } = build(
      db,
      Array.from({ length: count }, (_, place) => place),
    ).compile();
    const isInOrder = parameters.length === count && parameters.every((place, at) => place === at);
    assert(isInOrder, 'every place to be used once, in order');
    return sql;
  };
  return async (db: Queries, parameters: readonly unknown[]): Promise<readonly Row[]> => {
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(textOf(db, parameters.length), [...parameters]));
    return rows;
  };
}

/** Returns the places as strings. */
export function textPlaces(places: readonly Place[]): readonly string[] {
  // Sound for the same reason as `placesOfRows`.
  return places as readonly unknown[] as readonly string[];
}

/** Returns the places as rows, for a multi-row insert. */
export function placesOfRows<Row>(places: readonly Place[], columns: readonly (keyof Row)[]): Row[] {
  const rows: Row[] = [];
  for (let from = 0; from < places.length; from += columns.length) {
    // Sound: these values are never sent, only their places count.
    rows.push(Object.fromEntries(columns.map((column, at) => [column, places[from + at]])) as Row);
  }
  return rows;
}

/** Returns the parameters for `placesOfRows`; null where a row has no value. */
export function parametersOfRows<Row>(rows: readonly Row[], columns: readonly (keyof Row)[]): unknown[] {
  const parameters: unknown[] = [];
  for (const row of rows) for (const column of columns) parameters.push(row[column] ?? null);
  return parameters;
}
