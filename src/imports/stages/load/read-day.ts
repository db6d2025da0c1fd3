import { crc32, zstdDecompressSync } from 'node:zlib';
import { freeMemory } from '../../../base/free-memory.ts';
import { RunFailedError } from '../../run/leased-run.ts';
import { inOnePiece } from '../check/in-one-piece.ts';
import { stagingKeys, type DayIndex, type Staging } from '../../staging.ts';
import type { LoadBatch } from '../../target.ts';
import { readJson } from './read-json.ts';

/** Frames that are read from staging at once, for the sake of stores with a price per request. */
const readBytesMax = 4 << 20;
const readFramesMax = 32;

export interface DayFrame extends LoadBatch {
  /** Unpacked when they are first asked for: a target that takes `packed` does without. Throws RunFailedError. */
  readonly lines: Buffer;
  /** From 0, in the day. */
  readonly index: number;
  /** Of its JSON. */
  readonly bytes: number;
  /** Whether persons may be merged by it. */
  readonly merges: boolean;
  /** Nobody looks at the lines any more. */
  free(): void;
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
      if (frame.crc32 !== undefined && frame.crc32 !== crc32(packed)) throw damaged(staging, key);
      yield openFrame({ day: index.day, index: from, packed, frame }, () => linesOf(staging, key, packed, frame.bytes));
    }
  }
}

interface PackedFrame {
  readonly day: string;
  readonly index: number;
  readonly packed: Buffer;
  readonly frame: DayIndex['frames'][number];
}

function openFrame({ day, index, packed, frame }: PackedFrame, unpack: () => Buffer): DayFrame {
  const { events, bytes, merges = true } = frame;
  // Without a checksum, unpacking alone shows whether it is what the check wrote, before anything of it is sent.
  let lines = frame.crc32 === undefined ? unpack() : undefined;
  return {
    day,
    index,
    events,
    bytes,
    merges,
    packed,
    get lines() {
      return (lines ??= unpack());
    },
    free: () => {
      if (lines !== undefined) freeMemory(lines);
    },
  };
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

function linesOf(staging: Staging, key: string, frame: Buffer, rawBytes: number): Buffer {
  let lines: Buffer;
  try {
    lines = zstdDecompressSync(frame, inOnePiece(rawBytes));
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
