import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { RunFailedError, type Segment, type StoredPart } from '../../../run/leased-run.ts';
import { stagingKeys, StagingMissingError, type Staging } from '../../../staging.ts';

const decompress = promisify(zstdDecompress);

/**
 * Reads the lines of one staged segment and compares their hash with that of the export. Segments of a part are numbered from 0, as in
 * `part.segments`. Throws RunFailedError if the file is missing or has changed.
 */
export type ReadSegment = (
  staging: Staging,
  runId: string,
  part: Pick<StoredPart, 'seq' | 'key' | 'segments'>,
  index: number,
) => Promise<Buffer>;

export const readSegment: ReadSegment = async (staging, runId, part, index) => {
  const key = stagingKeys.segment(runId, part.seq, index);
  const segment = part.segments[index];
  if (segment === undefined) throw new RangeError(`expected a segment of the part ${part.key}, got: number ${index}`);
  const bytes = await readFile(staging, key, part.key);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== segment.sha256)
    throw changed(staging, key, part.key, `SHA-256 ${sha256} instead of ${segment.sha256}`);
  return await unpack(bytes, segment, (what, cause) => changed(staging, key, part.key, what, cause));
};

async function readFile(staging: Staging, key: string, part: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of staging.read(key)) chunks.push(chunk);
  } catch (cause) {
    if (!(cause instanceof StagingMissingError)) throw cause;
    throw changed(staging, key, part, 'no such file', cause);
  }
  return Buffer.concat(chunks);
}

async function unpack(
  bytes: Buffer,
  { rawBytes }: Segment,
  fault: (what: string, cause?: unknown) => RunFailedError,
): Promise<Buffer> {
  if (rawBytes === 0) return Buffer.alloc(0);
  let lines: Buffer;
  try {
    lines = await decompress(bytes, inOnePiece(rawBytes));
  } catch (cause) {
    throw fault('a file that is not zstd', cause);
  }
  if (lines.length !== rawBytes) throw fault(`${lines.length} bytes instead of ${rawBytes}`);
  return lines;
}

function changed(staging: Staging, key: string, part: string, got: string, cause?: unknown): RunFailedError {
  return new RunFailedError(`expected ${key} in ${staging.description} as it was staged from ${part}, got: ${got}`, {
    advice: 'startAgain',
    cause,
  });
}

/** Returns zlib options for unpacking exactly `rawBytes` into one piece of memory. */
function inOnePiece(rawBytes: number): { readonly chunkSize: number; readonly maxOutputLength: number } {
  const size = Math.max(64, rawBytes);
  // zlib allocates another chunk as soon as one is full, even at the end of the input.
  return { chunkSize: size + 1, maxOutputLength: size };
}
