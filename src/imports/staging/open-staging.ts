import { connectBucket, type BucketKeys, type BucketSettings } from '../s3/bucket.ts';
import { StagingMissingError, type Staging, type Written } from '../staging.ts';
import { BucketError } from '../s3/errors.ts';
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

/** For buckets only. The default keys come from the machine: its environment or role. */
export interface StagingBucketSettings {
  /** Default `us-east-1`. */
  readonly region?: string;
  /** Default: AWS. */
  readonly endpoint?: string;
  readonly keys?: BucketKeys;
  readonly forcePathStyle?: boolean;
}

/**
 * Opens staging.
 * @param place a directory, or `s3://bucket/prefix`
 * @throws Error if `place` is neither
 */
export async function openStaging(place: string, s3: StagingBucketSettings = {}): Promise<Staging> {
  if (!/^[a-z0-9]+:\/\//i.test(place)) return await openDirStaging(place);
  const { settings, prefix } = bucketPlace(place, s3);
  return await openS3Staging(settings, prefix);
}

/** Checks that the bucket of staging can be listed and written, without writing. Throws BucketError, or Error for another place. */
export async function probeBucketStaging(place: string, s3: StagingBucketSettings): Promise<void> {
  const { settings, prefix } = bucketPlace(place, s3);
  const bucket = await connectBucket({ ...settings, attempts: 1 });
  try {
    await bucket.probe(prefix);
  } finally {
    bucket.close();
  }
}

function bucketPlace(
  place: string,
  s3: StagingBucketSettings,
): { readonly settings: BucketSettings; readonly prefix: string } {
  const [, bucket = '', path = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(place) ?? [];
  if (bucket === '') {
    throw new Error(`expected a directory or s3://bucket/prefix as the place of staging, got: ${place}`);
  }
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`;
  const { region = 'us-east-1', endpoint, keys, forcePathStyle } = s3;
  const settings = {
    bucket,
    region,
    credentials: keys ?? 'ambient',
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(forcePathStyle === undefined ? {} : { forcePathStyle }),
  } as const;
  return { settings, prefix };
}

/** Opens staging in a bucket, below a prefix (empty, or ending with `/`). Throws BucketError. */
async function openS3Staging(settings: BucketSettings, prefix: string): Promise<Staging> {
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
    // An upload becomes visible only when it is complete.
    write: (key, chunks) => bucket.write(keyOf(key), chunks),
    async *read(key, range) {
      try {
        yield* bucket.read(keyOf(key), range === undefined ? {} : { range });
      } catch (error) {
        if (!(error instanceof BucketError) || error.kind !== 'missing') throw error;
        throw new StagingMissingError(`expected the file ${key} in staging, got none`, { cause: error });
      }
    },
    list,
    async remove(start) {
      await bucket.remove((await list(start)).map(({ key }) => prefix + key));
    },
  };
}

/** No key contains a `~`, so unfinished files have no key. */
const unfinished = '.part~';
const readBytes = 256 * 1024;

/** Opens staging in a directory, which is created if needed, readable by this user only. An interrupted write leaves a file that is not listed. */
export async function openDirStaging(dir: string): Promise<Staging> {
  const root = resolve(dir);
  await mkdir(root, { recursive: true, mode: 0o700 });
  const pathOf = (key: string): string => join(root, checkKey(key));
  return {
    description: `the directory ${dir}`,
    write: (key, chunks) => writeFile(pathOf(key), chunks),
    read: (key, range) => readFile(pathOf(key), key, range),
    async list(prefix) {
      const found = (await filesUnder(root, prefix)).filter(({ key }) => !key.includes(unfinished));
      return found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    },
    async remove(prefix) {
      // Removes the files of interrupted writes too.
      for (const { key } of await filesUnder(root, prefix)) await rm(join(root, key), { force: true });
      await removeEmpty(root, prefix);
    },
  };
}

async function writeFile(path: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Written> {
  const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}${unfinished}${randomUUID()}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    const written = await writeAll(file, chunks).finally(() => file.close());
    await rename(temporary, path);
    await syncDirs(dirname(path), made);
    return written;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeAll(file: FileHandle, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Written> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    await file.appendFile(chunk);
    bytes += chunk.length;
  }
  await file.sync();
  return { bytes, sha256: hash.digest('hex') };
}

/** Syncs all directories up to the first created one, because after a power cut a name exists only if its directory does. */
async function syncDirs(last: string, made: string | undefined): Promise<void> {
  const top = made === undefined ? last : dirname(made);
  for (let dir = last; ; dir = dirname(dir)) {
    const handle = await open(dir, 'r');
    await handle.sync().finally(() => handle.close());
    if (dir === top || dir === dirname(dir)) return;
  }
}

async function* readFile(
  path: string,
  key: string,
  range: { readonly start: number; readonly end: number } | undefined,
): AsyncGenerator<Buffer> {
  if (range !== undefined && range.end <= range.start) return;
  const part = range === undefined ? {} : { start: range.start, end: range.end - 1 };
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: readBytes, ...part })) yield chunk as Buffer;
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new StagingMissingError(`expected the file ${key} in staging, got none`, { cause: error });
  }
}

/** Walks only the directory that the prefix names. */
async function filesUnder(root: string, prefix: string): Promise<{ key: string; bytes: number }[]> {
  const found: { key: string; bytes: number }[] = [];
  for (const entry of await entriesOf(startOf(root, prefix), true)) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const key = relative(root, path);
    if (!key.startsWith(prefix)) continue;
    const bytes = await sizeOf(path);
    if (bytes !== undefined) found.push({ key, bytes });
  }
  return found;
}

function startOf(root: string, prefix: string): string {
  const slash = prefix.lastIndexOf('/');
  return slash === -1 ? root : join(root, checkKey(prefix.slice(0, slash)));
}

async function entriesOf(dir: string, recursive: boolean) {
  try {
    return await readdir(dir, { withFileTypes: true, recursive });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Returns `undefined` if the file was removed after it was listed. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function removeEmpty(root: string, prefix: string): Promise<void> {
  const start = startOf(root, prefix);
  const dirs = (await entriesOf(start, true))
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  const inside = [...(start === root ? [] : [start]), ...dirs].filter((dir) =>
    `${relative(root, dir)}/`.startsWith(prefix),
  );
  for (const dir of inside.toSorted((a, b) => b.length - a.length)) {
    try {
      await rmdir(dir);
    } catch (error) {
      if (!isMissing(error) && !hasCode(error, 'ENOTEMPTY')) throw error;
    }
  }
}

function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR');
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** Validates a key, because keys become paths. */
function checkKey(key: string): string {
  const segments = key.split('/');
  const sound = /^[a-zA-Z0-9_.=/-]+$/.test(key) && segments.every((each) => each !== '' && !/^\.+$/.test(each));
  if (!sound) throw new Error(`expected a key of staging such as "run/parts/000001", got: ${JSON.stringify(key)}`);
  return key;
}
