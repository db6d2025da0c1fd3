import { readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/** Older than what an import takes for a file in somebody's hands (src/imports/sources/files.ts). */
const minute = 60_000;

/**
 * Makes what was written within the last minute a minute older: an import waits a moment, several times, to look again at files
 * that are fresh. Once for each file: its times are a part of what it is told by.
 */
export async function ageFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) if (entry.isFile()) await ageFile(join(entry.parentPath, entry.name));
}

export async function ageFile(path: string): Promise<void> {
  const { mtimeMs } = await stat(path);
  if (Date.now() - mtimeMs > minute) return;
  const time = (mtimeMs - minute) / 1000;
  await utimes(path, time, time);
}
