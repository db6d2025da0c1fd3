import { zstdCompressSync } from 'node:zlib';
import type { Retry } from '../../../base/retry.ts';
import { stagingKeys, type RejectedRecord, type Staging } from '../../staging.ts';
import type { Delivered, Target } from '../../target.ts';
import { batchOf, piecesOf, type EventTexts } from './event-texts.ts';
import type { DayFrame } from './read-table.ts';
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
  readonly index: number;
  readonly accepted: number;
  readonly rejected: number;
}

/**
 * Delivers one frame to the target; rejected events are in staging before this resolves. `inDoubt` means that the target may have the frame
 * already, so it is queried first if it supports that.
 */
export async function deliverFrame(deps: DeliverFrameDeps, frame: DayFrame, inDoubt: boolean): Promise<DeliveredFrame> {
  const { texts, indexes } = inDoubt ? await withoutStored(deps, frame) : { texts: frame.texts, indexes: undefined };
  const delivered = await deliverPieces(deps, { day: frame.day, texts });
  const rejected = delivered.rejected.map((each) => ({ ...each, index: indexes?.[each.index] ?? each.index }));
  await writeRejected(deps, frame, rejected, inDoubt);
  const known = frame.texts.length - texts.length;
  return { index: frame.index, accepted: delivered.accepted + known, rejected: rejected.length };
}

/** A speed below the size of a frame divides it into pieces of one second. */
async function deliverPieces(
  { target, retry, speed, signal }: DeliverFrameDeps,
  whole: EventTexts,
): Promise<Pick<Delivered, 'accepted' | 'rejected'>> {
  let accepted = 0;
  const rejected: Delivered['rejected'][number][] = [];
  for (const { from, piece } of piecesOf(whole, speed)) {
    const batch = batchOf(piece);
    await speed.admit(batch.events, signal);
    const delivered = await retry(() => target.deliver(batch, signal));
    accepted += delivered.accepted;
    for (const each of delivered.rejected) rejected.push({ ...each, index: from + each.index });
  }
  return { accepted, rejected };
}

/** Returns the events of a frame that the target lacks. `indexes` are their positions in it; `undefined` if they are unchanged. */
export async function withoutStored(
  { target, retry, signal }: Pick<DeliverFrameDeps, 'target' | 'retry' | 'signal'>,
  { day, texts }: EventTexts,
): Promise<{ readonly texts: readonly string[]; readonly indexes: readonly number[] | undefined }> {
  const { stored } = target;
  if (stored === undefined) return { texts, indexes: undefined };
  const uuids = await retry(() => stored(batchOf({ day, texts }), signal));
  const indexes = texts.flatMap((text, index) => (uuids.has(uuidOf(text)) ? [] : [index]));
  return { texts: indexes.map((index) => texts[index] ?? ''), indexes };
}

function uuidOf(text: string): string {
  // The event was read from the table.
  return String((JSON.parse(text) as { readonly uuid: unknown }).uuid);
}

async function writeRejected(
  { staging, run }: DeliverFrameDeps,
  frame: DayFrame,
  rejected: Delivered['rejected'],
  inDoubt: boolean,
): Promise<void> {
  const key = stagingKeys.rejected(run, `load-${frame.day}-${frame.index}`);
  if (rejected.length === 0) {
    // An interrupted attempt may have left one.
    if (inDoubt) await staging.remove(key);
    return;
  }
  const records = rejected.map(({ index, code, detail }): RejectedRecord => {
    const place = `event ${index + 1} of batch ${frame.index + 1} of ${frame.day}`;
    return { part: '', line: 0, place, stage: 'load', code, reason: detail, original: frame.texts[index] ?? '' };
  });
  const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  await staging.write(key, [zstdCompressSync(Buffer.from(text))]);
}

/** Returns the key prefix of what the load rejected, of the run or of one day. */
export function loadRejectedPrefix(run: string, day?: string): string {
  return stagingKeys.rejected(run, day === undefined ? 'load-' : `load-${day}-`).replace(/\.ndjson\.zst$/, '');
}
