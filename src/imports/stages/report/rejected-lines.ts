import { unzstdChunks } from '../../records/decompress.ts';
import type { Staging } from '../../staging.ts';

/**
 * Yields the rejected records of a run as NDJSON, in the order of file names (check, export, load), with only a piece of one file in
 * memory; a file may have many frames.
 */
export async function* rejectedLines(staging: Staging, run: string): AsyncGenerator<Buffer> {
  for (const { key } of await staging.list(`${run}/rejected/`)) yield* unzstdChunks(staging.read(key), key);
}
