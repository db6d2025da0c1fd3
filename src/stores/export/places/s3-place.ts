import { connectBucket, type BucketSettings } from '../../../imports/s3/bucket.ts';
import { BucketError } from '../../../imports/s3/errors.ts';
import { OutboundError } from '../../../plugins/outbound/outbound.ts';
import type { ExportDestination } from '../../../wire/contract/exports.ts';
import { ExportPlaceError, type ExportPlace } from '../export-place.ts';
import { folderOf, type PlaceDeps } from './place-deps.ts';

/** Opens a bucket of S3 or a compatible service, for one export. */
export async function openS3Place(
  { resolve }: Pick<PlaceDeps, 'resolve'>,
  id: string,
  destination: ExportDestination,
  secrets: Readonly<Record<string, string>>,
): Promise<ExportPlace> {
  const bucket = await connectBucket(settingsOf(destination, secrets, resolve));
  const folder = folderOf(destination, id);
  const checked = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw asPlaceError(error);
    }
  };
  return {
    write: (name, chunks) => checked(bucket.write(`${folder}${name}`, chunks)),
    remove: (names) => checked(bucket.remove(names.map((name) => `${folder}${name}`))),
    close: () => bucket.close(),
  };
}

function settingsOf(
  {
    bucket = '',
    region = 'us-east-1',
    endpoint,
    path_style: forcePathStyle,
    access_key_id: id = '',
  }: ExportDestination,
  { secret_access_key: secretAccessKey = '', session_token: sessionToken }: Readonly<Record<string, string>>,
  resolve: PlaceDeps['resolve'],
): BucketSettings {
  return {
    bucket,
    region,
    resolve,
    credentials: { accessKeyId: id, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
  };
}

function asPlaceError(error: unknown): unknown {
  const isFinal =
    (error instanceof BucketError && error.kind !== 'wait') || (error instanceof OutboundError && !error.retry);
  return isFinal ? new ExportPlaceError(`${error.message}; start the export again`, { cause: error }) : error;
}
