import type { BucketKeys } from '../s3/bucket.ts';
import type { Staging } from '../staging.ts';
import { openDirStaging } from './dir-staging.ts';
import { openS3Staging } from './s3-staging.ts';

/** For buckets only. What is left out comes from the machine: keys from its environment or role. */
export interface StagingBucketSettings {
  /** Default `us-east-1`. */
  readonly region?: string;
  /** Undefined: AWS. */
  readonly endpoint?: string;
  readonly keys?: BucketKeys;
  readonly forcePathStyle?: boolean;
}

/**
 * @param place a directory, or `s3://bucket/prefix`
 * @throws Error when the place is none
 */
export async function openStaging(place: string, s3: StagingBucketSettings = {}): Promise<Staging> {
  if (!/^[a-z0-9]+:\/\//i.test(place)) return await openDirStaging(place);
  const [, bucket = '', path = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(place) ?? [];
  if (bucket === '') {
    throw new Error(`expected a directory or s3://bucket/prefix as the place of staging, got: ${place}`);
  }
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`;
  const { region = 'us-east-1', endpoint, keys, forcePathStyle } = s3;
  return await openS3Staging(
    {
      bucket,
      region,
      credentials: keys ?? 'ambient',
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(forcePathStyle === undefined ? {} : { forcePathStyle }),
    },
    prefix,
  );
}
