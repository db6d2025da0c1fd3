import type { ScannedBatch } from './scanned-batch.ts';
import { fieldFrom, fieldTo, isNullAt } from './spans.ts';

/**
 * Builds new bodies from scanned ones, for the few cases where the log must not keep the body as received. Spans are copied
 * and never parsed, so events stay unchanged.
 */

/** Converts a single object without an event name, as accepted by /engage, to an `$identify`. */
export function asIdentify(scan: ScannedBatch): Buffer {
  const from = fieldFrom(scan, 0, 'event');
  const members = scan.json.subarray(from + 1, fieldTo(scan, 0, 'event'));
  const separator = isEmptyObject(members) ? '' : ',';
  // The last of two equal keys counts: if there is a null name, ours must follow it.
  if (fieldFrom(scan, 0, 'name') < 0) return Buffer.concat([Buffer.from(`{"event":"$identify"${separator}`), members]);
  return Buffer.concat([
    scan.json.subarray(from, fieldTo(scan, 0, 'event') - 1),
    Buffer.from(`${separator}"event":"$identify"}`),
  ]);
}

function isEmptyObject(members: Buffer): boolean {
  return members.toString().trim() === '}';
}

/** Checks whether the body is a single event without a name. */
export function isNameless(scan: ScannedBatch): boolean {
  if (scan.root !== 'single') return false;
  const from = fieldFrom(scan, 0, 'name');
  return from < 0 || isNullAt(scan.json, from);
}

/** Builds the batch without the events that `keep` excludes, as a batch object with the same root fields. */
export function withoutEvents(scan: ScannedBatch, keep: (index: number) => boolean): Buffer {
  const root = {
    ...(scan.token === undefined ? {} : { api_key: scan.token }),
    ...(scan.sentAt === undefined ? {} : { sent_at: scan.sentAt }),
    ...(scan.historicalMigration ? { historical_migration: true } : {}),
  };
  const head = JSON.stringify(root).slice(0, -1);
  const parts: Buffer[] = [Buffer.from(`${head}${head === '{' ? '' : ','}"batch":[`)];
  for (let i = 0; i < scan.count; i++) {
    if (!keep(i)) continue;
    if (parts.length > 1) parts.push(comma);
    parts.push(scan.json.subarray(fieldFrom(scan, i, 'event'), fieldTo(scan, i, 'event')));
  }
  parts.push(Buffer.from(']}'));
  return Buffer.concat(parts);
}

const comma = Buffer.from(',');
