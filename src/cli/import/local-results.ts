import { Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { StagingMissingError, type Staging } from '../../imports/staging.ts';
import { CommandError } from '../exit-codes.ts';

/** Errors: notFound, when the run has not come so far. */
export async function readText(staging: Staging, key: string, stage: string): Promise<string> {
  try {
    return Buffer.concat(await Array.fromAsync(staging.read(key))).toString('utf8');
  } catch (error) {
    if (!(error instanceof StagingMissingError)) throw error;
    throw new CommandError('notFound', `the run has not come to the end of its stage ${stage} yet`, { cause: error });
  }
}

/** NDJSON of RejectedRecord, in the order in which they came about. */
export async function* rejectedLines(staging: Staging, run: string, signal: AbortSignal): AsyncIterable<Uint8Array> {
  for (const { key } of await staging.list(`${run}/rejected/`)) {
    signal.throwIfAborted();
    const plain = createZstdDecompress();
    const source = Readable.from(staging.read(key)).on('error', (error) => plain.destroy(error));
    yield* source.pipe(plain) as AsyncIterable<Buffer>;
  }
}
