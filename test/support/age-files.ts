import { readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/** Older than a file that imports consider still being written (src/imports/sources/files.ts). */
const minute = 60_000;

/**
 * Makes files of the last minute a minute older, because an import waits a moment, several times, to recheck fresh files. Each file
 * is aged only once, because its times are part of its identity.
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
