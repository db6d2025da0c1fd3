import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Failpoint } from '../../base/failpoint.ts';
import { StagingMissingError, type Staging } from '../../imports/staging.ts';
import type { BackupProgress } from './backup-progress.ts';
import { eachAtOnce } from './each-at-once.ts';
import {
  backedUp,
  BackupDamagedError,
  keyOf,
  manifestKey,
  readManifest,
  unfinishedKey,
  type BackupFile,
  type Manifest,
} from './manifest.ts';
import { restoreFile } from './restore-state.ts';
import { BackupRefusedError } from './write-backup.ts';

export interface RestoreDeps {
  readonly source: Staging;
  /** Missing or empty. */
  readonly dataDir: string;
  readonly progress: BackupProgress;
  readonly failpoint: Failpoint;
  readonly signal: AbortSignal;
}

/** Entries at the root of file systems. */
const ofTheDisk = new Set(['lost+found']);

/** Reads every byte of a backup. @throws BackupDamagedError, which names the first faulty file */
export async function checkBackup({ source, progress, signal }: RestoreDeps): Promise<Manifest> {
  const found = new Map((await source.list('')).map(({ key, bytes }) => [key, bytes]));
  if (!found.has(manifestKey)) {
    const got = found.has(unfinishedKey) ? 'one that was not completed' : 'none';
    throw new BackupDamagedError(`expected a backup in ${source.description}, got ${got}; name another one`);
  }
  const manifest = readManifest(Buffer.concat(await Array.fromAsync(source.read(manifestKey))).toString('utf8'));
  for (const { path, bytes } of manifest.files) {
    const got = found.get(keyOf(path));
    if (got !== bytes) throw damaged(path, got === undefined ? 'none' : `${got} bytes`, `${bytes} bytes`);
  }
  progress.step('reading the backup', totalBytes(manifest));
  await eachAtOnce(manifest.files, async (file) => {
    for await (const piece of checkedPieces(source, file)) {
      signal.throwIfAborted();
      progress.bytes(piece.length);
    }
  });
  return manifest;
}

/** @throws BackupRefusedError when the directory contains anything other than an unfinished restore */
export async function checkEmpty(dataDir: string): Promise<void> {
  if (!existsSync(dataDir) || existsSync(restoreFile(dataDir))) return;
  const other = (await readdir(dataDir)).find((name) => !ofTheDisk.has(name));
  if (other === undefined) return;
  throw new BackupRefusedError(
    `expected an empty directory, got ${dataDir} with ${other}; name another one with --data-dir`,
  );
}

/** Writes the backup that `checkBackup` has read. Until `endRestore` no service starts in the directory. */
export async function writeRestored(deps: RestoreDeps, manifest: Manifest): Promise<void> {
  const { source, dataDir, progress, failpoint, signal } = deps;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(restoreFile(dataDir), `${JSON.stringify({ backup: manifest.id })}\n`, { mode: 0o600, flush: true });
  for (const root of backedUp) await rm(join(dataDir, root), { recursive: true, force: true });
  progress.step('writing files', totalBytes(manifest));
  const dirs = new Set<string>([dataDir]);
  await eachAtOnce(manifest.files, async (file) => {
    const path = join(dataDir, file.path);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const handle = await open(path, 'wx', 0o600);
    try {
      for await (const piece of checkedPieces(source, file)) {
        signal.throwIfAborted();
        await handle.appendFile(piece);
        progress.bytes(piece.length);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    // By the path in the backup, so that the loop ends however the data directory is spelled (`./data`).
    for (let dir = dirname(file.path); dir !== '.'; dir = dirname(dir)) dirs.add(join(dataDir, dir));
    failpoint('restore_file');
  });
  for (const { path, to } of manifest.links) {
    await mkdir(dirname(join(dataDir, path)), { recursive: true, mode: 0o700 });
    await symlink(to, join(dataDir, path));
  }
  for (const dir of dirs) await syncDirectory(dir);
}

/** Makes the directory usable. */
export async function endRestore(dataDir: string): Promise<void> {
  await rm(restoreFile(dataDir));
  await syncDirectory(dataDir);
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Yields the bytes of a file. @throws BackupDamagedError after the last one if they were altered */
async function* checkedPieces(source: Staging, { path, bytes, sha256 }: BackupFile): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  try {
    for await (const piece of source.read(keyOf(path))) {
      hash.update(piece);
      yield piece;
    }
  } catch (error) {
    if (!(error instanceof StagingMissingError)) throw error;
    throw damaged(path, 'none', `${bytes} bytes`);
  }
  const got = hash.digest('hex');
  if (got !== sha256) throw damaged(path, `SHA-256 ${got}`, `SHA-256 ${sha256}`);
}

function damaged(path: string, got: string, expected: string): BackupDamagedError {
  return new BackupDamagedError(`expected ${path} in the backup with ${expected}, got ${got}; use another backup`);
}

function totalBytes({ files }: Manifest): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}
