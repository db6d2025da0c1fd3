import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createNameMatcher, expandBraces } from '../../base/file-pattern.ts';
import { SourceError, SourceWaitError, type UploadedFile, type UploadedFiles } from '../source.ts';
import { StagingMissingError } from '../staging.ts';
import { findUpload, listUploads, readUpload, type StagedUpload, type StagedUploadsDeps } from './staged-uploads.ts';

/** Files that DuckDB and SQLite keep next to a database until they are merged into it. */
const sidecars = ['.wal', '-wal'] as const;
/** Bytes of the disk that stay free. */
const reserveBytes = 1024 ** 3;

interface UploadCopiesOptions {
  readonly projectId: number;
  /** Directory of the copies, which its creator removes. */
  readonly dir: string;
}

/**
 * Copies uploaded files from staging for sources that read files: zip archives, Parquet files and databases need random access, so a file is
 * copied to this machine when its first record is requested.
 */
export function createUploadCopies(deps: StagedUploadsDeps, { projectId, dir }: UploadCopiesOptions): UploadedFiles {
  /** By path; concurrent requests share one copy. */
  const copies = new Map<string, Promise<string>>();
  return {
    async find(pattern) {
      const exact = await findUpload(deps.db, projectId, pattern);
      if (exact !== undefined) return [toFile(exact)];
      const all = await listUploads(deps.db, projectId);
      const matchers = expandBraces(pattern).map(createNameMatcher);
      return all.filter(({ name }) => matchers.some((matches) => matches(name))).map(toFile);
    },
    async copy(name) {
      const upload = await findUpload(deps.db, projectId, name);
      if (upload === undefined) throw new SourceError(`expected a file at upload:${name}, found none`);
      const path = join(dir, `${upload.uploadId}-${upload.bytes}`, name);
      const copied = copies.get(path) ?? copyWithSidecars(deps, projectId, upload, path);
      copies.set(path, copied);
      return copied.catch((error: unknown) => {
        copies.delete(path);
        throw error;
      });
    },
  };
}

async function copyWithSidecars(
  deps: StagedUploadsDeps,
  projectId: number,
  upload: StagedUpload,
  path: string,
): Promise<string> {
  for (const suffix of sidecars) {
    const sidecar = await findUpload(deps.db, projectId, upload.name + suffix);
    if (sidecar !== undefined) await copyUpload(deps, sidecar, path + suffix);
  }
  return await copyUpload(deps, upload, path);
}

async function copyUpload(deps: StagedUploadsDeps, upload: StagedUpload, path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await waitForRoom(upload, path);
  const unfinished = `${path}.part`;
  try {
    await pipeline(readUpload(deps, upload), createWriteStream(unfinished, { mode: 0o600 }));
    await rename(unfinished, path);
    return path;
  } catch (error) {
    if (!(error instanceof StagingMissingError)) throw error;
    const message = `upload:${upload.name} was replaced or deleted while it was read`;
    throw new SourceWaitError(message, { unlimited: false, cause: error });
  } finally {
    await rm(unfinished, { force: true });
  }
}

async function waitForRoom({ name, bytes }: StagedUpload, path: string): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path));
  if (bavail * bsize - reserveBytes >= bytes) return;
  const message = `expected room on the disk for a copy of upload:${name} (${bytes} bytes), got too little; free some space`;
  throw new SourceWaitError(message, { unlimited: true });
}

function toFile({ name, uploadId, bytes, changedAt }: StagedUpload): UploadedFile {
  // An added piece changes the size, a piece at 0 the upload id.
  return { name, bytes, identity: `${uploadId}-${bytes}`, modifiedAt: changedAt };
}
