import type { Writable } from 'node:stream';
import { constants, createZstdCompress } from 'node:zlib';
import { freeMemory } from '../../../base/free-memory.ts';
import { createInterruption } from '../../../base/interruption.ts';
import type { Segment } from '../../run/leased-run.ts';
import { linesWithoutRecord, SourceWaitError } from '../../source.ts';
import type { Staging } from '../../staging.ts';
import { addNotes, createNoteSum, noteCountsOf } from '../check/tally/note-tally.ts';
import type { LineFeed } from './line-feed.ts';

export interface SegmentLimits {
  readonly records: number;
  /** Before compression. */
  readonly rawBytes: number;
}

interface WrittenSegment {
  /** `undefined` if nothing was left to write. */
  readonly segment: Segment | undefined;
  /** The part has no more records. */
  readonly ended: boolean;
  /** The source broke after these records, which count nevertheless. */
  readonly broke: SourceWaitError | undefined;
}

const level = 1;
/** Size of a block, compressed in another thread while the next one is read. */
const blockBytes = 1024 * 1024;
const outputBytes = 256 * 1024;

/** Writes the next segment of the feed as a stream, so that memory does not depend on its size. */
export async function writeSegment(
  feed: LineFeed,
  to: { readonly staging: Staging; readonly key: string },
  limits: SegmentLimits,
  onRecords: (records: number) => void,
): Promise<WrittenSegment> {
  const state: Filling = { records: 0, continued: 0, rawBytes: 0, ended: false, broke: undefined };
  const lines = segmentLines(feed, limits, state, onRecords);
  const first = await lines.next();
  const { ended, broke } = state;
  if (first.done === true) return { segment: undefined, ended, broke };
  const compress = createZstdCompress({
    chunkSize: outputBytes,
    params: { [constants.ZSTD_c_compressionLevel]: level },
  });
  // The reader of the stream receives the error; until then it must not count as unhandled.
  compress.on('error', () => undefined);
  const [written, sent] = await Promise.allSettled([
    to.staging.write(to.key, compress).finally(() => compress.destroy()),
    sendAll(withFirst(first.value, lines), compress),
  ]);
  // An error of the source ends both; an error of staging is reported only by `write`.
  if (written.status === 'rejected') throw written.reason;
  if (sent.status === 'rejected') throw sent.reason;
  const { records, continued, rawBytes } = state;
  const notes = createNoteSum();
  addNotes(notes, feed.takeNotes());
  const read = { ...(continued > 0 && { continued }), ...noteCountsOf(notes) };
  return { segment: { records, rawBytes, ...read, ...written.value }, ended: state.ended, broke: state.broke };
}

/**
 * Copies lines into blocks, because they are valid only until the next ones are requested; while one block is compressed another is filled.
 * An error ends the writable too.
 */
async function sendAll(lines: AsyncIterable<Buffer>, writable: Writable): Promise<void> {
  let block = Buffer.allocUnsafeSlow(blockBytes);
  let other = Buffer.allocUnsafeSlow(blockBytes);
  let filled = 0;
  let sent = Promise.resolve();
  // A destroyed stream may never call back for what was written to it.
  const interruption = createInterruption();
  writable.once('close', () =>
    interruption.interrupt(new Error('expected all lines to be compressed, got the end of the stream')),
  );
  try {
    for await (const bytes of lines) {
      for (let from = 0; from < bytes.length;) {
        const copied = bytes.copy(block, filled, from);
        from += copied;
        filled += copied;
        if (filled < block.length) continue;
        await sent;
        sent = interruption.race(send(writable, block));
        // The await above reports a failure.
        sent.catch(() => undefined);
        [block, other] = [other, block];
        filled = 0;
      }
    }
    await sent;
    await interruption.race(send(writable, block.subarray(0, filled)));
    writable.end();
  } catch (error) {
    // The block that is being compressed must stay in memory.
    writable.destroy(error instanceof Error ? error : new Error('the lines could not be read', { cause: error }));
    throw error;
  }
  freeMemory(block);
  freeMemory(other);
}

/** Resolves when the stream has accepted the bytes. */
function send(writable: Writable, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    writable.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

interface Filling {
  /** Lines. */
  records: number;
  continued: number;
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
    const continued = linesWithoutRecord(lines.bytes);
    state.continued += continued;
    onRecords(lines.count - continued);
    yield lines.bytes;
  }
}

/** Returns `undefined` if the part ended or broke. */
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
