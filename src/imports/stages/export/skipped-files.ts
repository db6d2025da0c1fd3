import type { LeftOutFile } from '../../run/results.ts';
import { stagingKeys, type Staging } from '../../staging.ts';

/** Writes the skipped files of one part, replacing those of an earlier attempt. */
export async function writeSkippedFiles(
  staging: Staging,
  run: string,
  part: number,
  files: readonly LeftOutFile[],
): Promise<void> {
  if (files.length > 0) await staging.write(stagingKeys.leftOut(run, part), [Buffer.from(JSON.stringify(files))]);
}

/** Reads the skipped files of all parts, in order. */
export async function readSkippedFiles(staging: Staging, run: string): Promise<LeftOutFile[]> {
  const files: LeftOutFile[] = [];
  for (const { key } of await staging.list(`${run}/left-out/`)) {
    const text = Buffer.concat(await Array.fromAsync(staging.read(key))).toString('utf8');
    // The export wrote it.
    files.push(...(JSON.parse(text) as LeftOutFile[]));
  }
  return files;
}
