import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, statfs, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  filesMax,
  refuseMisplaced,
  refuseTooLarge,
  tightestRoom,
  type ImportFiles,
  type Room,
  type StoredFile,
  type UploadLimits,
} from './import-upload-rules.ts';

/** Age of a partial upload whose process ended. */
const staleMs = 24 * 3_600_000;
const pieceForm = /^\.piece-/;
/** Disk space that stays free for the service's log. */
const reserveBytes = 1024 ** 3;

interface Place extends UploadLimits {
  /** Directory of this project. */
  readonly dir: string;
  readonly clock: Clock;
  readonly uploads: Uploads;
}

/** State shared by the uploads of a process. */
export interface Uploads {
  /** Paths being written. */
  readonly busy: Set<string>;
  /** Runs one at a time, so that two uploads cannot use the same free space. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createUploads(): Uploads {
  let last: Promise<unknown> = Promise.resolve();
  return {
    busy: new Set(),
    inTurn(work) {
      const turn = last.then(work);
      // The caller receives the error.
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}

/** Uploaded files of a project in a directory. */
export function createImportFiles(place: Place): ImportFiles {
  const { dir, clock } = place;
  const { busy, inTurn } = place.uploads;
  const list = async (): Promise<StoredFile[]> => {
    const names = (await namesIn(dir)).filter((name) => !name.startsWith('.')).sort();
    const files = await Promise.all(names.slice(0, filesMax).map((name) => describe(dir, name)));
    return files.filter((file) => file !== undefined);
  };
  return {
    list,
    async write(name, offset, content) {
      const path = join(dir, name);
      if (busy.has(path)) throw new ApiError('conflict', `"${name}" is being uploaded; retry later.`);
      busy.add(path);
      const piece = join(dir, `.piece-${newId()}`);
      try {
        await mkdir(dir, { recursive: true });
        await removeStale(dir, clock.now());
        await refusePiece(dir, name, offset);
        const { sha256, bytes } = await receive(content, piece, await roomFor(place, name, offset));
        await inTurn(async () => {
          // Concurrent uploads count as well.
          refuseTooLarge(bytes, await roomFor(place, name, offset));
          await (offset === 0 ? replace(piece, path) : append(piece, path, offset));
        });
        await syncDir(dir);
        const file = await describe(dir, name);
        if (file === undefined) throw new ApiError('conflict', `"${name}" was removed during the upload.`);
        return { ...file, sha256 };
      } finally {
        await rm(piece, { force: true });
        busy.delete(path);
      }
    },
    async rename(name, to) {
      await rename(join(dir, name), join(dir, to));
      await syncDir(dir);
    },
    async remove(name) {
      const known = (await describe(dir, name)) !== undefined;
      if (busy.has(join(dir, name))) throw new ApiError('conflict', `"${name}" is being uploaded.`);
      await rm(join(dir, name), { force: true });
      return known;
    },
  };
}

async function refusePiece(dir: string, name: string, offset: number): Promise<void> {
  const there = await describe(dir, name);
  refuseMisplaced({ name, offset }, { bytes: there?.bytes, files: (await namesIn(dir)).length });
}

/** Returns the limits for a piece that starts at `offset`; 0 replaces the file. */
async function roomFor(place: Place, name: string, offset: number): Promise<Room> {
  const { dir } = place;
  const kept = (await namesIn(dir)).filter((each) => !each.startsWith('.') && (each !== name || offset > 0));
  const files = await Promise.all(kept.map((each) => describe(dir, each)));
  const used = files.reduce((sum, file) => sum + (file?.bytes ?? 0), 0);
  const { bavail, bsize } = await statfs(dir);
  return tightestRoom(place, { used, offset, free: bavail * bsize - reserveBytes });
}

/** Returns hash and size of the received bytes. */
async function receive(
  content: AsyncIterable<Buffer>,
  piece: string,
  room: Room,
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  // Not a write stream: one that is aborted early would create the file after the caller has removed it.
  const file = await open(piece, 'wx', 0o600);
  try {
    for await (const chunk of content) {
      bytes += chunk.length;
      refuseTooLarge(bytes, room);
      hash.update(chunk);
      await file.appendFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), bytes };
}

async function replace(piece: string, path: string): Promise<void> {
  await rename(piece, path);
}

/** After a crash in between, the file is longer than its sender knows: the next piece is refused with the actual length. */
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

/** `undefined` if the file does not exist. */
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
