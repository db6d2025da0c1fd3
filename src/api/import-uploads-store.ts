import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../base/clock.ts';
import { newId } from '../base/ids.ts';
import { ApiError } from '../contract/errors.ts';

const nameCharsMax = 150;
const filesMax = 1_000;
/** Of an upload that was cut off together with the process. */
const staleMs = 24 * 3_600_000;
const pieceForm = /^\.piece-/;

export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  /** ms since the epoch. */
  readonly changedAt: number;
}

export interface ImportFiles {
  /** By name, at most 1000. */
  list(): Promise<readonly StoredFile[]>;
  /**
   * The piece of a file that begins at `offset`; 0 replaces a file of this name. Durable when it resolves; a piece that does not
   * come whole leaves the file as it was.
   * @throws ApiError conflict, request_too_large
   */
  write(name: string, offset: number, content: Readable): Promise<StoredFile & { readonly sha256: string }>;
  /** False: there is none. */
  remove(name: string): Promise<boolean>;
}

interface Place {
  /** Of this project alone. */
  readonly dir: string;
  readonly fileBytesMax: number;
  readonly clock: Clock;
  /** Paths that are being written; shared by all places of a process. */
  readonly busy: Set<string>;
}

/** Files of one project that are uploaded for imports. */
export function createImportFiles({ dir, fileBytesMax, clock, busy }: Place): ImportFiles {
  const list = async (): Promise<StoredFile[]> => {
    const names = (await namesIn(dir)).filter((name) => !name.startsWith('.')).sort();
    const files = await Promise.all(names.slice(0, filesMax).map((name) => describe(dir, name)));
    return files.filter((file) => file !== undefined);
  };
  return {
    list,
    async write(name, offset, content) {
      const path = join(dir, name);
      if (busy.has(path)) throw new ApiError('conflict', `"${name}" is being uploaded at the moment; come later.`);
      busy.add(path);
      const piece = join(dir, `.piece-${newId()}`);
      try {
        await mkdir(dir, { recursive: true });
        await removeStale(dir, clock.now());
        await refuseMisplaced(dir, name, offset);
        const sha256 = await receive(content, piece, fileBytesMax - offset);
        await (offset === 0 ? replace(piece, path) : append(piece, path, offset));
        await syncDir(dir);
        const file = await describe(dir, name);
        if (file === undefined) throw new ApiError('conflict', `"${name}" was removed while it was uploaded.`);
        return { ...file, sha256 };
      } finally {
        await rm(piece, { force: true });
        busy.delete(path);
      }
    },
    async remove(name) {
      const known = (await describe(dir, name)) !== undefined;
      if (busy.has(join(dir, name))) throw new ApiError('conflict', `"${name}" is being uploaded at the moment.`);
      await rm(join(dir, name), { force: true });
      return known;
    },
  };
}

/**
 * A name that is a name everywhere: letters, digits, `.`, `-` and `_`; of a path its last part.
 * @throws ApiError invalid_input when nothing is left of it
 */
export function fileNameOf(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? '';
  const name = last.replaceAll(/[^A-Za-z0-9._-]+/g, '_').replace(/^[._]+/, '');
  if (name !== '') return name.slice(-nameCharsMax).replace(/^[._]+/, '');
  throw new ApiError('invalid_input', 'Expected the name of a file with letters or digits, such as events.jsonl.gz.', {
    attr: 'name',
  });
}

async function refuseMisplaced(dir: string, name: string, offset: number): Promise<void> {
  const there = await describe(dir, name);
  if (there === undefined && offset === 0) {
    if ((await namesIn(dir)).length < filesMax) return;
    throw new ApiError('conflict', `The project has ${filesMax} uploaded files; delete some first.`);
  }
  if (offset === 0 || there?.bytes === offset) return;
  const detail = `Expected the piece to begin at ${there?.bytes ?? 0}, where "${name}" ends, got offset ${offset}.`;
  throw new ApiError('conflict', detail, { attr: 'offset' });
}

/** Returns the hash of what came. */
async function receive(content: Readable, piece: string, bytesMax: number): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  const measured = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        throw new ApiError(
          'request_too_large',
          `Expected a file within the limit of this service; ${bytesMax} bytes are left.`,
        );
      }
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(content, measured, createWriteStream(piece, { flags: 'wx', mode: 0o600, flush: true }));
  return hash.digest('hex');
}

async function replace(piece: string, path: string): Promise<void> {
  await rename(piece, path);
}

/** A crash in between leaves a file that is longer than its sender knows: the next piece is refused with the length it has. */
async function append(piece: string, path: string, offset: number): Promise<void> {
  try {
    await pipeline(createReadStream(piece), createWriteStream(path, { flags: 'r+', start: offset, flush: true }));
  } catch (error) {
    await truncate(path, offset);
    throw error;
  }
}

async function syncDir(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function removeStale(dir: string, now: number): Promise<void> {
  for (const name of await namesIn(dir)) {
    if (!pieceForm.test(name)) continue;
    const file = await describe(dir, name);
    if (file !== undefined && now - file.changedAt > staleMs) await rm(join(dir, name), { force: true });
  }
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Undefined: there is no such file. */
async function describe(dir: string, name: string): Promise<StoredFile | undefined> {
  try {
    const { size, mtimeMs } = await stat(join(dir, name));
    return { name, bytes: size, changedAt: mtimeMs };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
