import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { StagingMissingError, type Staging, type Written } from '../staging.ts';
import { checkKey } from './check-key.ts';

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
