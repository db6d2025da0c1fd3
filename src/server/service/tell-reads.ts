import type { RecordChunk, Source } from '../../imports/source.ts';

/** Told of each part of a source when it is opened, and when it is done with. */
export interface ReadTeller {
  readonly begins: (part: string) => void;
  readonly ends: (part: string) => void;
}

/** The same source. A process that ends in the middle of a part leaves behind which one it was. */
export function tellReads(source: Source, teller: ReadTeller): Source {
  return { ...source, open: (part, context) => told(source.open(part, context), part.key, teller) };
}

async function* told(
  chunks: AsyncIterable<RecordChunk>,
  part: string,
  { begins, ends }: ReadTeller,
): AsyncGenerator<RecordChunk> {
  begins(part);
  try {
    yield* chunks;
  } finally {
    ends(part);
  }
}
