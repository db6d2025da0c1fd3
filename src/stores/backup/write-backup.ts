import { createReadStream } from 'node:fs';
import { readdir, readlink, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Failpoint } from '../../base/failpoint.ts';
import type { Staging } from '../../imports/staging.ts';
import type { BackupProgress } from './backup-progress.ts';
import { eachAtOnce } from './each-at-once.ts';
import {
  backedUp,
  filesPrefix,
  keyOf,
  manifestKey,
  manifestText,
  unfinishedKey,
  type BackupFile,
  type BackupLink,
  type Manifest,
} from './manifest.ts';

/** A backup cannot start; nothing was changed. The message states what to do. */
export class BackupRefusedError extends Error {
  override name = 'BackupRefusedError';
}

export interface WriteBackupDeps {
  readonly target: Staging;
  /** A data directory that no process changes. */
  readonly from: string;
  readonly about: Pick<Manifest, 'id' | 'taken_at' | 'counts'>;
  readonly progress: BackupProgress;
  readonly failpoint: Failpoint;
  /** Aborts between two chunks of a file. */
  readonly signal: AbortSignal;
}

/**
 * Marks an empty place as an unfinished backup and removes the remains of an earlier attempt.
 *
 * @throws BackupRefusedError when the place contains anything else
 */
export async function beginBackup(target: Staging, id: string): Promise<void> {
  const keys = (await target.list('')).map(({ key }) => key);
  if (keys.includes(manifestKey)) {
    throw new BackupRefusedError(
      `expected an empty place, got ${target.description} with a complete backup; name another one`,
    );
  }
  const isOurs =
    keys.includes(unfinishedKey) && keys.every((key) => key === unfinishedKey || key.startsWith(filesPrefix));
  if (keys.length > 0 && !isOurs) {
    const [other = ''] = keys;
    throw new BackupRefusedError(
      `expected an empty place, got ${target.description} with other files (${other}); name another one`,
    );
  }
  await target.write(unfinishedKey, [Buffer.from(`${JSON.stringify({ id })}\n`)]);
  await target.remove(filesPrefix);
}

/** Writes every file, and then the manifest, which completes the backup. */
export async function writeBackup(deps: WriteBackupDeps): Promise<Manifest> {
  const { target, from, progress, failpoint, signal } = deps;
  const found = await contentOf(from);
  progress.step(
    'writing files',
    found.files.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  const files: BackupFile[] = [];
  await eachAtOnce(found.files, async ({ path }) => {
    const { bytes, sha256 } = await target.write(keyOf(path), piecesOf(join(from, path), progress, signal));
    files.push({ path, bytes, sha256 });
    failpoint('backup_file');
  });
  const manifest: Manifest = {
    format: 1,
    ...deps.about,
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    links: found.links,
  };
  failpoint('backup_files_written');
  await target.write(manifestKey, [Buffer.from(manifestText(manifest))]);
  failpoint('backup_whole');
  await target.remove(unfinishedKey);
  return manifest;
}

async function* piecesOf(file: string, progress: BackupProgress, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20, signal })) {
    // Sound: a file stream without an encoding yields buffers.
    const piece = chunk as Buffer;
    progress.bytes(piece.length);
    yield piece;
  }
}

async function contentOf(
  dir: string,
): Promise<{ files: readonly { path: string; bytes: number }[]; links: readonly BackupLink[] }> {
  const files: { path: string; bytes: number }[] = [];
  const links: BackupLink[] = [];
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = relative(dir, join(entry.parentPath, entry.name));
    if (!backedUp.some((root) => path === root || path.startsWith(`${root}/`))) continue;
    if (entry.isSymbolicLink()) links.push({ path, to: await readlink(join(dir, path)) });
    else if (entry.isFile()) files.push({ path, bytes: (await stat(join(dir, path))).size });
  }
  return { files, links };
}
