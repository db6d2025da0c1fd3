import { connectBucket, type BucketKeys, type BucketSettings } from '../s3/bucket.ts';
import { StagingMissingError, type Staging, type Written } from '../staging.ts';
import { BucketError } from '../s3/errors.ts';
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

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

/** Staging in a bucket, below a prefix (empty, or ending with `/`). Throws BucketError. */
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

/** No key holds a `~`, so a file that is being written is none that is there. */
const unfinished = '.part~';
const readBytes = 256 * 1024;

/** Staging in a directory, which is made when it is not there; what is made only this user may read. A write that dies leaves a file that nobody sees. */
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
      // Also what a write that died has left.
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

/** The name is there after a power cut only when its directory is, and so on up to where the first one was made. */
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
    throw new StagingMissingError(`expected the file ${key} in staging, but it is not there`, { cause: error });
  }
}

/** Only the directory that the prefix names is gone through. */
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

/** Undefined: it is gone since it was listed. */
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

/** Keys become paths, so nothing but what staging itself makes may come through. Throws for any other. */
function checkKey(key: string): string {
  const segments = key.split('/');
  const sound = /^[a-zA-Z0-9_.=/-]+$/.test(key) && segments.every((each) => each !== '' && !/^\.+$/.test(each));
  if (!sound) throw new Error(`expected a key of staging such as "run/parts/000001", got: ${JSON.stringify(key)}`);
  return key;
}
