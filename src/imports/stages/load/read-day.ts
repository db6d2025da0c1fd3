import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { RunFailedError } from '../../run/leased-run.ts';
import { inOnePiece } from '../check/in-one-piece.ts';
import { stagingKeys, type DayIndex, type Staging } from '../../staging.ts';
import type { LoadBatch } from '../../target.ts';
import { readJson } from './read-json.ts';

const decompress = promisify(zstdDecompress);

/** Frames that are read from staging at once, for the sake of stores with a price per request. */
const readBytesMax = 4 << 20;
const readFramesMax = 32;

export interface DayFrame extends LoadBatch {
  /** From 0, in the day. */
  readonly index: number;
  /** Of its JSON. */
  readonly bytes: number;
}

/** Where the frames of a day lie. Throws RunFailedError when the file is no index. */
export async function readDayIndex(staging: Staging, run: string, day: string): Promise<DayIndex> {
  const key = stagingKeys.dayIndex(run, day);
  // What the check wrote.
  const index = (await readJson(staging, key)) as DayIndex;
  if (index.day !== day || !Array.isArray(index.frames)) throw damaged(staging, key);
  return index;
}

/** The frames of a day from `first` on, in order, a few at a time in memory. */
export async function* readDayFrames(
  staging: Staging,
  run: string,
  index: DayIndex,
  first = 0,
): AsyncGenerator<DayFrame> {
  const key = stagingKeys.day(run, index.day);
  for (let from = first; from < index.frames.length;) {
    const to = groupEnd(index, from);
    const start = index.frames[from]?.start ?? 0;
    const end = index.frames[to - 1]?.end ?? start;
    const bytes = await readRange(staging, key, start, end);
    for (; from < to; from += 1) {
      const frame = index.frames[from];
      if (frame === undefined) break;
      const packed = bytes.subarray(frame.start - start, frame.end - start);
      // Unpacked in any case: that shows whether it is what the check wrote, before anything of it is sent.
      const lines = await linesOf(staging, key, packed, frame.bytes);
      yield { day: index.day, index: from, lines, packed, events: frame.events, bytes: frame.bytes };
    }
  }
}

function groupEnd({ frames }: DayIndex, from: number): number {
  const start = frames[from]?.start ?? 0;
  let to = from + 1;
  while (to < frames.length && to - from < readFramesMax && (frames[to]?.end ?? 0) - start <= readBytesMax) to += 1;
  return to;
}

async function readRange(staging: Staging, key: string, start: number, end: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key, { start, end })) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  if (bytes.length !== end - start) throw damaged(staging, key);
  return bytes;
}

async function linesOf(staging: Staging, key: string, frame: Buffer, rawBytes: number): Promise<Buffer> {
  let lines: Buffer;
  try {
    lines = await decompress(frame, inOnePiece(rawBytes));
  } catch (cause) {
    throw damaged(staging, key, cause);
  }
  if (lines.length !== rawBytes) throw damaged(staging, key);
  return lines;
}

function damaged(staging: Staging, key: string, cause?: unknown): RunFailedError {
  return new RunFailedError(`expected ${key} in ${staging.description} as the check wrote it, got: a damaged file`, {
    advice: 'startAnew',
    cause,
  });
}
