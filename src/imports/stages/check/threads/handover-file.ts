import { deserialize, serialize } from 'node:v8';
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { StoredPart } from '../../../run/leased-run.ts';
import { stagingKeys, StagingMissingError, type Staging } from '../../../staging.ts';
import type { HandOver } from './check-alone.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** What a segment handed over lies in staging: a check that is resumed need not read the segment again. */
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
    throw new Error(`expected what segment ${index} of the part ${part.key} handed over, got no such file`, { cause });
  }
  // What writeHandOver wrote: a file that was written whole, or none.
  return deserialize(await decompress(Buffer.concat(chunks))) as HandOver;
}
