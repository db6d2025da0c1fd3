import { CompiledQuery, type Compilable, type DialectAdapter } from 'kysely';
import { assert } from '../../base/assert.ts';
import type { Queries } from './queries.ts';

/** Stands for the parameter of this number, while a query is built. */
type Place = number;

/**
 * A query that is run again and again, whose text depends on nothing but the number of its parameters: it is built once for each
 * number, since to build one of a thousand parameters costs as much as to run it. `build` uses every place once, in order.
 * Parameters are passed on as they are: a text must hold no NUL.
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

/** The places as texts. */
export function textPlaces(places: readonly Place[]): readonly string[] {
  // Sound: as of `placesOfRows`.
  return places as readonly unknown[] as readonly string[];
}

/** The places as rows, for an insert of many. */
export function placesOfRows<Row>(places: readonly Place[], columns: readonly (keyof Row)[]): Row[] {
  const rows: Row[] = [];
  for (let from = 0; from < places.length; from += columns.length) {
    // Sound: what stands here is never sent, only its place counts.
    rows.push(Object.fromEntries(columns.map((column, at) => [column, places[from + at]])) as Row);
  }
  return rows;
}

/** What `placesOfRows` stands for; null where a row has nothing. */
export function parametersOfRows<Row>(rows: readonly Row[], columns: readonly (keyof Row)[]): unknown[] {
  const parameters: unknown[] = [];
  for (const row of rows) for (const column of columns) parameters.push(row[column] ?? null);
  return parameters;
}
