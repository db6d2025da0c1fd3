import { deserialize, serialize } from 'node:v8';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { StoredPart } from '../../../run/leased-run.ts';
import { stagingKeys, StagingMissingError, type Staging } from '../../../staging.ts';
import type { HandOver } from './check-alone.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Stages what a segment passes on, so that a resumed check need not read the segment again. */
export async function writeHandOver(
  staging: Staging,
  run: string,
  { seq, index }: { readonly seq: number; readonly index: number },
  handOver: HandOver,
): Promise<void> {
  await staging.write(stagingKeys.handOver(run, seq, index), [await compress(serialize(handOver))]);
}

export async function handOverOf(
  staging: Staging,
  run: string,
  { part, index }: { readonly part: Pick<StoredPart, 'key' | 'seq'>; readonly index: number },
): Promise<HandOver> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of staging.read(stagingKeys.handOver(run, part.seq, index))) chunks.push(chunk);
  } catch (cause) {
    if (!(cause instanceof StagingMissingError)) throw cause;
    throw new Error(`expected the results of segment ${index} of the part ${part.key} in staging, got no such file`, {
      cause,
    });
  }
  // writeHandOver wrote it completely, or not at all.
  return deserialize(await decompress(Buffer.concat(chunks))) as HandOver;
}
