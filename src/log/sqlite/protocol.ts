import type { MessagePort } from 'node:worker_threads';
import type { Lane } from '../eventlog.ts';
import type { LogOpenErrorCode, PerLane } from './format.ts';
import type { PackedRows } from './packed-rows.ts';

/** Data that the writer thread starts with. */
export interface WriterThreadData {
  readonly dir: string;
  readonly port: MessagePort;
  readonly shared: SharedArrayBuffer;
  readonly committed: PerLane<number>;
  readonly segmentBytes: number;
  readonly drainedFileBytes: number;
}

/** Messages to the thread. Appends of a lane are answered in order. */
export type ToWriterThread =
  | { readonly kind: 'append'; readonly lane: Lane; readonly rows: PackedRows }
  /** Begins new files, so that those with stored records can be removed. */
  | { readonly kind: 'forget'; readonly id: number }
  | { readonly kind: 'close' };

export const numbersPerSize = 4;

/** Sizes of waiting records, four numbers each: seq, project, events, bytes. */
export interface WaitingSizes {
  readonly lane: Lane;
  readonly numbers: Float64Array;
}

/** Messages from the thread. */
export type FromWriterThread =
  | { readonly kind: 'waiting'; readonly sizes: WaitingSizes }
  | { readonly kind: 'ready' }
  | { readonly kind: 'refused'; readonly code: LogOpenErrorCode; readonly message: string }
  /** The oldest `count` unanswered appends of the lane are durable, numbered from `firstSeq` on. */
  | { readonly kind: 'appended'; readonly lane: Lane; readonly count: number; readonly firstSeq: number }
  /** The oldest `count` unanswered appends of the lane failed. */
  | { readonly kind: 'failed'; readonly lane: Lane; readonly count: number; readonly reason: string }
  /** The files that existed at the message with this id are removed. */
  | { readonly kind: 'forgotten'; readonly id: number }
  | { readonly kind: 'problem'; readonly sentence: string };
