import { zstdCompressSync } from 'node:zlib';
import type { Retry } from '../../../base/retry.ts';
import { stagingKeys, type RejectedRecord, type Staging } from '../../staging.ts';
import type { Delivered, LoadBatch, Target } from '../../target.ts';
import { splitLines } from '../../targets/lines.ts';
import type { DayFrame } from './read-day.ts';
import { piecesOf } from './pieces.ts';
import type { SpeedLimit } from './speed-limit.ts';

export interface DeliverFrameDeps {
  readonly target: Target;
  readonly staging: Staging;
  readonly run: string;
  readonly retry: Retry;
  readonly speed: SpeedLimit;
  readonly signal: AbortSignal;
}

export interface DeliveredFrame {
  readonly frame: Pick<DayFrame, 'index' | 'events' | 'bytes'>;
  readonly accepted: number;
  readonly rejected: number;
}

/**
 * Brings one frame to the target; what it refuses lies in staging before this resolves. `inDoubt`: the target may have the
 * frame already, so it is asked first, if it can tell. The frame's lines are given back.
 */
export async function deliverFrame(deps: DeliverFrameDeps, frame: DayFrame, inDoubt: boolean): Promise<DeliveredFrame> {
  const { batch, indexes, known } = inDoubt ? await withoutStored(deps, frame) : whole(frame);
  const delivered = await deliverPieces(deps, batch);
  const rejected = delivered.rejected.map((each) => ({ ...each, index: indexes?.[each.index] ?? each.index }));
  await keepRejected(deps, frame, rejected, inDoubt);
  frame.free();
  return {
    frame: { index: frame.index, events: frame.events, bytes: frame.bytes },
    accepted: delivered.accepted + known,
    rejected: rejected.length,
  };
}

/** A speed below the size of a frame cuts it: a second's worth at a time. */
async function deliverPieces(
  { target, retry, speed, signal }: DeliverFrameDeps,
  whole: LoadBatch,
): Promise<Pick<Delivered, 'accepted' | 'rejected'>> {
  let accepted = 0;
  const rejected: Delivered['rejected'][number][] = [];
  if (whole.events === 0) return { accepted, rejected };
  for (const { from, batch } of piecesOf(whole, speed.eventsMax)) {
    await speed.admit(batch.events, signal);
    const delivered = await retry(() => target.deliver(batch, signal));
    accepted += delivered.accepted;
    for (const each of delivered.rejected) rejected.push({ ...each, index: from + each.index });
  }
  return { accepted, rejected };
}

interface Remainder {
  readonly batch: LoadBatch;
  /** Where the batch's events stand in the frame; undefined: at the same place. */
  readonly indexes: readonly number[] | undefined;
  /** Events of the frame that the target has. */
  readonly known: number;
}

function whole(batch: LoadBatch): Remainder {
  return { batch, indexes: undefined, known: 0 };
}

async function withoutStored({ target, retry, signal }: DeliverFrameDeps, frame: DayFrame): Promise<Remainder> {
  const { stored } = target;
  if (stored === undefined) return whole(frame);
  const uuids = await retry(() => stored(frame, signal));
  if (uuids.size === 0) return whole(frame);
  const lines = splitLines(frame.lines);
  const indexes = lines.flatMap((line, index) => (uuids.has(uuidOf(line)) ? [] : [index]));
  const rest = Buffer.from(indexes.map((index) => lines[index] ?? '').join('\n'));
  return {
    batch: { day: frame.day, lines: rest, events: indexes.length },
    indexes,
    known: frame.events - indexes.length,
  };
}

function uuidOf(line: string): string {
  // What the check wrote: an object with a uuid.
  return String((JSON.parse(line) as { readonly uuid: unknown }).uuid).toLowerCase();
}

async function keepRejected(
  { staging, run }: DeliverFrameDeps,
  frame: DayFrame,
  rejected: Delivered['rejected'],
  inDoubt: boolean,
): Promise<void> {
  const key = stagingKeys.rejected(run, `load-${frame.day}-${frame.index}`);
  if (rejected.length === 0) {
    // An attempt that died may have left one.
    if (inDoubt) await staging.remove(key);
    return;
  }
  const lines = splitLines(frame.lines);
  const records = rejected.map(({ index, code, detail }): RejectedRecord => {
    const place = `event ${index + 1} of batch ${frame.index + 1} of ${frame.day}`;
    return { part: '', line: 0, place, stage: 'load', code, reason: detail, original: lines[index] ?? '' };
  });
  const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  await staging.write(key, [zstdCompressSync(Buffer.from(text))]);
}

/** Where the keys of what the load rejected begin: of the run, or of one day. */
export function loadRejectedPrefix(run: string, day?: string): string {
  return stagingKeys.rejected(run, day === undefined ? 'load-' : `load-${day}-`).replace(/\.ndjson\.zst$/, '');
}
