import { createHash } from 'node:crypto';
import { fieldFrom, fieldTo } from '../../wire/batch/spans.ts';
import type { ScannedBatch } from '../../wire/batch/scanned-batch.ts';
import type { RecordContext } from '../event-draft.ts';

/**
 * Assigns a uuid to an event without one, the same at every replay.
 * - live: version 7, with the time of the event and random bits derived from its place in the log
 * - historical: derived from the content, so that sending a batch again changes nothing; equal events of one request are
 *   distinguished by a counter
 */
export function assignUuid(context: RecordContext, scan: ScannedBatch, index: number, micros: number): string {
  if (context.lane === 'live') return placeUuid(context, index, micros);
  return contentUuid(context, scan, index);
}

function placeUuid(context: RecordContext, index: number, micros: number): string {
  const { lane, seq, projectId, part, receivedAt } = context;
  // Parts of a project are in different slots, which use the same sequence numbers.
  const place = `${projectId}:${lane}:${seq}:${index}:${receivedAt}${part === 0 ? '' : `:${part}`}`;
  const bytes = createHash('sha1').update(place).digest();
  const ms = Math.max(0, Math.floor(micros / 1000));
  bytes.writeUIntBE(ms, 0, 6);
  return formatUuid(bytes, 7);
}

const identifying = ['name', 'distinctId', 'timestamp', 'properties', 'set', 'setOnce'] as const;

function contentUuid(context: RecordContext, scan: ScannedBatch, index: number): string {
  const hash = createHash('sha1').update(`${context.projectId}`);
  for (const field of identifying) {
    const from = fieldFrom(scan, index, field);
    hash.update('\u001f');
    if (from >= 0) hash.update(scan.json.subarray(from, fieldTo(scan, index, field)));
  }
  const content = hash.digest();
  const key = content.toString('latin1');
  const before = context.occurrences.get(key) ?? 0;
  context.occurrences.set(key, before + 1);
  if (before === 0) return formatUuid(content, 5);
  return formatUuid(createHash('sha1').update(content).update(String(before)).digest(), 5);
}

function formatUuid(bytes: Buffer, version: number): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
