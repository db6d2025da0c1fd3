import { isObject } from '../../base/json.ts';
import {
  SourceChangedError,
  SourceError,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourcePart,
  type TimeRange,
} from '../source.ts';
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
  /** Of the warehouse, for errors. */
  readonly name: string;
  /** Runs the query and waits for its end. */
  run(range: TimeRange, context: SourceContext): Promise<StoredResult>;
  /** Finds an earlier result. Throws ResultGoneError. */
  find(id: string, context: SourceContext): Promise<StoredResult>;
  /** Reads rows of one piece, in order. Throws ResultGoneError, `wrongRows`. */
  read(piece: ResultPiece, context: SourceContext): AsyncIterable<RecordChunk>;
}

export interface ResultPiece {
  /** Of the part. */
  readonly key: string;
  /** Id of the result. */
  readonly result: string;
  readonly piece: number;
  readonly rows: number;
}

/** Creates a source that reads the result of one query. */
export function createResultSource(store: ResultStore): Source {
  const parts = createResultParts(store);
  return {
    concurrency: 2,
    listParts: (range, context) => parts.list(range, context),
    async *open(part, context) {
      try {
        yield* store.read(pieceOf(part), context);
      } catch (error) {
        if (!(error instanceof ResultGoneError)) throw error;
        parts.forget();
        throw new SourceChangedError(`the result of the query at ${store.name} has expired`);
      }
    },
    release: async () => parts.forget(),
  };
}

interface ResultParts {
  /**
   * Lists the pieces of one result as parts. All calls of a run use the same result, as of the beginning of the import, until it
   * expires: the query then runs again, and everything is read from its new result. Parts that it no longer has become empty.
   */
  list(range: TimeRange, context: SourceContext): Promise<SourcePart[]>;
  /** Makes the next listing find the result again, because it has expired or is no longer needed. */
  forget(): void;
}

function createResultParts(store: ResultStore): ResultParts {
  let last: { readonly range: string; readonly result: StoredResult } | undefined;
  return {
    forget: () => (last = undefined),
    async list(range, context) {
      const { known = [] } = context;
      const key = JSON.stringify(range);
      if (last?.range !== key) {
        const id = known.findLast(({ detail }) => typeof detail?.['result'] === 'string')?.detail?.['result'];
        const found = typeof id === 'string' ? await orGone(store.find(id, context)) : undefined;
        last = { range: key, result: found ?? (await store.run(range, context)) };
      }
      return partsOf(last.result, known);
    },
  };
}

async function orGone(found: Promise<StoredResult>): Promise<StoredResult | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof ResultGoneError) return undefined;
    throw error;
  }
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
function pieceOf({ key, detail }: SourcePart): ResultPiece {
  const { result, piece, rows } = isObject(detail) ? detail : {};
  if (typeof result !== 'string' || typeof piece !== 'number' || typeof rows !== 'number') throw badPart(key);
  return { key, result, piece, rows };
}

/** The result of a query that the warehouse no longer has. */
export class ResultGoneError extends SourceError {
  override name = 'ResultGoneError';
}

/** Reports a piece with more or fewer rows than it was listed with. */
export function wrongRows(key: string, listed: number, got: number): SourceChangedError {
  return new SourceChangedError(`${key} had ${listed} rows when it was listed, and ${got} when it was read`);
}
