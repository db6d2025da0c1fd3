import type { ScannedBatch } from './scanned-batch.ts';
import { fieldFrom, fieldTo } from './spans.ts';

/** Parses the root of a batch object without its events, so that the cost does not depend on their number. */
export function rootOf(scan: ScannedBatch): Readonly<Record<string, unknown>> {
  const { json, count } = scan;
  const from = count === 0 ? 0 : fieldFrom(scan, 0, 'event');
  const to = count === 0 ? 0 : fieldTo(scan, count - 1, 'event');
  const text = json.toString('utf8', 0, from) + json.toString('utf8', to);
  return JSON.parse(text) as Record<string, unknown>;
}
