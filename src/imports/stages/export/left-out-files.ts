import type { LeftOutFile } from '../../run/results.ts';
import { stagingKeys, type Staging } from '../../staging.ts';

/** What was left out of one part; replaces what an earlier attempt wrote. */
export async function writeLeftOut(
  staging: Staging,
  run: string,
  part: number,
  files: readonly LeftOutFile[],
): Promise<void> {
  if (files.length > 0) await staging.write(stagingKeys.leftOut(run, part), [Buffer.from(JSON.stringify(files))]);
}

/** Of all parts, in their order. */
export async function readLeftOut(staging: Staging, run: string): Promise<LeftOutFile[]> {
  const files: LeftOutFile[] = [];
  for (const { key } of await staging.list(`${run}/left-out/`)) {
    const text = Buffer.concat(await Array.fromAsync(staging.read(key))).toString('utf8');
    // What the export wrote.
    files.push(...(JSON.parse(text) as LeftOutFile[]));
  }
  return files;
}
