import { deserialize, serialize } from 'node:v8';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { stagingKeys, StagingMissingError, type Staging } from '../../staging.ts';
import type { HandOver } from './check-alone.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** What a segment handed over lies beside its spill: a check that goes on need not read the segment again. */
export async function writeHandOver(
  staging: Staging,
  run: string,
  { seq, index }: { readonly seq: number; readonly index: number },
  handOver: HandOver,
): Promise<void> {
  await staging.write(stagingKeys.handOver(run, seq, index), [await compress(serialize(handOver))]);
}

/** Undefined: there is none, an earlier version checked the segment. */
export async function readHandOver(
  staging: Staging,
  run: string,
  { seq, index }: { readonly seq: number; readonly index: number },
): Promise<HandOver | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of staging.read(stagingKeys.handOver(run, seq, index))) chunks.push(chunk);
  } catch (error) {
    if (error instanceof StagingMissingError) return undefined;
    throw error;
  }
  // What writeHandOver wrote: a file that was written whole, or none.
  return deserialize(await decompress(Buffer.concat(chunks))) as HandOver;
}
