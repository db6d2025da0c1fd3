import { isObject } from '../../base/json.ts';
import { SourceChangedError, SourceError, type SourceContext, type SourcePart, type TimeRange } from '../source.ts';
import { badPart } from './cursor-bounds.ts';

/** The result of a query, which a warehouse keeps unchanged for a day. */
export interface StoredResult {
  /** Names the result in later requests. */
  readonly id: string;
  /** The number of rows of each piece, in order. */
  readonly pieces: readonly number[];
}

/** Runs the query of an import once; its result is read in pieces. */
export interface ResultStore {
  /** Runs the query and waits for its end. */
  run(range: TimeRange, context: SourceContext): Promise<StoredResult>;
  /** Finds an earlier result; `undefined` if it has expired. */
  find(id: string, context: SourceContext): Promise<StoredResult | undefined>;
}

export interface ResultParts {
  /**
   * Lists the pieces of one result as parts. All calls of a run use the same result, as of the beginning of the import, until it
   * expires: the query then runs again, and everything is read from its new result. Parts that it no longer has become empty.
   */
  list(range: TimeRange, context: SourceContext): Promise<SourcePart[]>;
  /** Makes the next listing find the result again, because it has expired or is no longer needed. */
  forget(): void;
}

export function createResultParts(store: ResultStore): ResultParts {
  let last: { readonly range: string; readonly result: StoredResult } | undefined;
  return {
    forget: () => (last = undefined),
    async list(range, context) {
      const { known = [] } = context;
      const key = JSON.stringify(range);
      if (last?.range !== key) {
        const id = known.findLast(({ detail }) => typeof detail?.['result'] === 'string')?.detail?.['result'];
        const found = typeof id === 'string' ? await store.find(id, context) : undefined;
        last = { range: key, result: found ?? (await store.run(range, context)) };
      }
      return partsOf(last.result, known);
    },
  };
}

function partsOf({ id, pieces }: StoredResult, known: readonly Pick<SourcePart, 'key'>[]): SourcePart[] {
  const numbers = new Map(known.map(({ key }) => [key, Number(/^piece (\d+)$/.exec(key)?.[1] ?? NaN)]));
  const gone = [...numbers.values()].filter((number) => number >= pieces.length);
  const listed = [...pieces.keys(), ...gone.toSorted((a, b) => a - b)];
  return listed.map((piece) => ({
    key: `piece ${piece}`,
    identity: id,
    stable: false,
    isSnapshot: true,
    detail: { result: id, piece, rows: pieces[piece] ?? 0 },
  }));
}

/** Where a part is in its result. Throws SourceError for an invalid part. */
export function pieceOf({ key, detail }: SourcePart): { result: string; piece: number; rows: number } {
  const { result, piece, rows } = isObject(detail) ? detail : {};
  if (typeof result !== 'string' || typeof piece !== 'number' || typeof rows !== 'number') throw badPart(key);
  return { result, piece, rows };
}

/** The result of a query that the warehouse no longer has. */
export class ResultGoneError extends SourceError {
  override name = 'ResultGoneError';
}

/** Reports that the warehouse has removed a result: the query runs again. */
export function resultExpired(name: string): SourceChangedError {
  return new SourceChangedError(`the result of the query at ${name} has expired`);
}

/** Reports a piece with more or fewer rows than it was listed with. */
export function wrongRows(key: string, listed: number, got: number): SourceChangedError {
  return new SourceChangedError(`${key} had ${listed} rows when it was listed, and ${got} when it was read`);
}
