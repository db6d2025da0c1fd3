import { SourceError, type SourcePart } from '../source.ts';

const objectsMax = 100_000;

/** An object of a bucket and its part. */
export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
  readonly part: SourcePart;
}

/**
 * Selects the objects to read among those with the prefix, without empty ones and folder placeholders.
 * @throws SourceError if there are no objects, or more than a run can have
 */
export async function chooseObjects(
  pages: AsyncIterable<readonly ListedObject[]>,
  { prefix, suffix }: { readonly prefix: string; readonly suffix: string },
): Promise<SourcePart[]> {
  const found: SourcePart[] = [];
  for await (const page of pages) {
    const some = page.filter(({ key, bytes }) => bytes > 0 && !key.endsWith('/') && key.endsWith(suffix));
    found.push(...some.map(({ part }) => part));
    if (found.length > objectsMax) {
      throw new SourceError(`expected at most ${objectsMax} objects, got more: import them in several runs, by prefix`);
    }
  }
  if (found.length === 1) return found;
  if (found.length > 1) return found.map(oneOfSeveral);
  throw new SourceError(
    `expected objects with keys like ${prefix}…${suffix} in the bucket, found none: check prefix and suffix`,
  );
}

function oneOfSeveral(part: SourcePart): SourcePart {
  return { ...part, detail: { ...part.detail, several: true } };
}
