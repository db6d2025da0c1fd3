import { unzstdChunks } from '../../records/decompress.ts';
import type { Staging } from '../../staging.ts';

/**
 * The rejected records of a run as NDJSON, in the order of the files' names (check, day, export, load). Never more than a piece
 * of one file in memory; a file may be of many frames.
 */
export async function* rejectedLines(staging: Staging, run: string): AsyncGenerator<Buffer> {
  for (const { key } of await staging.list(`${run}/rejected/`)) yield* unzstdChunks(staging.read(key), key);
}
