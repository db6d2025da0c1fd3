import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import type { Segment } from '../../run/leased-run.ts';
import { SourceWaitError } from '../../source.ts';
import type { Staging } from '../../staging.ts';
import type { LineFeed } from './line-feed.ts';

export interface SegmentLimits {
  readonly records: number;
  /** Before compression. */
  readonly rawBytes: number;
}

export interface WrittenSegment {
  /** Undefined: there was nothing left to write. */
  readonly segment: Segment | undefined;
  /** The part has no more. */
  readonly ended: boolean;
  /** The source broke after these records; they count nevertheless. */
  readonly broke: SourceWaitError | undefined;
}

const level = 1;

/** Writes the next segment of the feed; streamed, so that memory does not depend on its size. */
export async function writeSegment(
  feed: LineFeed,
  to: { readonly staging: Staging; readonly key: string },
  limits: SegmentLimits,
  onRecords: (records: number) => void,
): Promise<WrittenSegment> {
  const state: Filling = { records: 0, rawBytes: 0, ended: false, broke: undefined };
  const lines = segmentLines(feed, limits, state, onRecords);
  const first = await lines.next();
  const { ended, broke } = state;
  if (first.done === true) return { segment: undefined, ended, broke };
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: level } });
  const input = Readable.from(withFirst(first.value, lines), { objectMode: true, highWaterMark: 2 });
  const [written, sent] = await Promise.allSettled([
    to.staging.write(to.key, compress).finally(() => compress.destroy()),
    pipeline(input, compress),
  ]);
  // What the source threw ends both; what staging threw is told by itself only.
  if (written.status === 'rejected') throw written.reason;
  if (sent.status === 'rejected') throw sent.reason;
  const { records, rawBytes } = state;
  return { segment: { records, rawBytes, ...written.value }, ended: state.ended, broke: state.broke };
}

interface Filling {
  records: number;
  rawBytes: number;
  ended: boolean;
  broke: SourceWaitError | undefined;
}

async function* segmentLines(
  feed: LineFeed,
  limits: SegmentLimits,
  state: Filling,
  onRecords: (records: number) => void,
): AsyncGenerator<Buffer> {
  while (state.records < limits.records && (state.rawBytes < limits.rawBytes || state.records === 0)) {
    const lines = await takeLines(feed, limits, state);
    if (lines === undefined) return;
    state.records += lines.count;
    state.rawBytes += lines.bytes.length;
    onRecords(lines.count);
    yield lines.bytes;
  }
}

/** Undefined: the part ended or broke. */
async function takeLines(feed: LineFeed, limits: SegmentLimits, state: Filling) {
  try {
    const lines = await feed.take(limits.records - state.records, limits.rawBytes - state.rawBytes);
    if (lines === undefined) state.ended = true;
    return lines;
  } catch (error) {
    if (!(error instanceof SourceWaitError)) throw error;
    state.broke = error;
    return undefined;
  }
}

async function* withFirst(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
