import { connectBucket, type BucketSettings } from '../s3/bucket.ts';
import { BucketError } from '../s3/errors.ts';
import { StagingMissingError, type Staging } from '../staging.ts';
import { checkKey } from './check-key.ts';

/** Staging in a bucket, below a prefix (empty, or ending with `/`). Throws BucketError. */
export async function openS3Staging(settings: BucketSettings, prefix: string): Promise<Staging> {
  const bucket = await connectBucket(settings);
  const keyOf = (key: string): string => prefix + checkKey(key);
  const list = async (start: string): Promise<{ key: string; bytes: number }[]> => {
    const found: { key: string; bytes: number }[] = [];
    for await (const page of bucket.list(prefix + start)) {
      found.push(...page.map(({ key, bytes }) => ({ key: key.slice(prefix.length), bytes })));
    }
    return found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  };
  return {
    description: `the bucket ${settings.bucket}${prefix === '' ? '' : ` below ${prefix}`}`,
    // The port's chunks and the bucket's are the same; an upload shows itself only when it is complete.
    write: (key, chunks) => bucket.write(keyOf(key), chunks),
    async *read(key, range) {
      try {
        yield* bucket.read(keyOf(key), range === undefined ? {} : { range });
      } catch (error) {
        if (!(error instanceof BucketError) || error.kind !== 'missing') throw error;
        throw new StagingMissingError(`expected the file ${key} in staging, but it is not there`, { cause: error });
      }
    },
    list,
    async remove(start) {
      await bucket.remove((await list(start)).map(({ key }) => prefix + key));
    },
  };
}
