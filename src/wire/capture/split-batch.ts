import { promisify } from 'node:util';
import { gzip, zstdCompress } from 'node:zlib';
import { freeMemory } from '../../base/free-memory.ts';
import type { AcceptedBatch } from '../batch/door.ts';
import { inflateBody } from '../batch/inflate-body.ts';
import { scanLimits } from '../batch/limits.ts';
import { withoutEvents } from '../batch/rewrite.ts';
import { scanBatch } from '../batch/scan.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import { distinctIdText, fieldFrom, fieldTo, isNullAt } from '../batch/spans.ts';
import { storedId } from '../batch/stored-id.ts';
import type { Settings } from '../../server/config/settings.ts';
import { partOf } from '../../log/slot-of.ts';

/** The events of one part of a project, in their order. */
export interface BatchPart {
  readonly part: number;
  readonly batch: AcceptedBatch;
}

export type SplitLimits = Pick<Settings, 'captureEventBytesMax' | 'captureInflatedBytesMax'>;

const gzipAsync = promisify(gzip);
const zstdAsync = promisify(zstdCompress);
const quick = { level: 1 };

/**
 * A batch of a project that is spread, cut by the distinct ids of its events. What is all of one part stays as it was received. Events
 * without an id, which the pipeline refuses, go with the first part.
 */
export async function splitBatch(batch: AcceptedBatch, spread: number, limits: SplitLimits): Promise<BatchPart[]> {
  const json = inflateBody(batch, limits.captureInflatedBytesMax);
  const scan = scanBatch(json, scanLimits(limits.captureEventBytesMax));
  const parts = Array.from({ length: scan.count }, (_, index) => partOf(distinctIdOf(scan, index), spread));
  const used = [...new Set(parts)];
  const cut =
    used.length === 1
      ? [{ part: used[0] ?? 0, batch }]
      : used.map((part) => ({ part, body: bodyOf(batch, scan, (index) => parts[index] === part) }));
  if (batch.encoding !== 'identity') freeMemory(json);
  freeMemory(scan.spans);
  const counts = Map.groupBy(parts, (part) => part);
  return await Promise.all(
    cut.map(async (each) => {
      if ('batch' in each) return each;
      const body = await packed(each.body, batch);
      return { part: each.part, batch: { ...batch, body, events: counts.get(each.part)?.length ?? 0 } };
    }),
  );
}

function distinctIdOf(scan: ScannedBatch, index: number): string {
  const from = fieldFrom(scan, index, 'distinctId');
  if (from < 0 || isNullAt(scan.json, from)) return '';
  return storedId(distinctIdText(scan.json, from, fieldTo(scan, index, 'distinctId')));
}

/** In the form that the encoding packs. */
function bodyOf({ encoding }: AcceptedBatch, scan: ScannedBatch, keep: (index: number) => boolean): Buffer {
  if (encoding !== 'zstd-ndjson') return withoutEvents(scan, keep);
  const lines: Buffer[] = [];
  for (let index = 0; index < scan.count; index++) {
    if (!keep(index)) continue;
    if (lines.length > 0) lines.push(newline);
    lines.push(scan.json.subarray(fieldFrom(scan, index, 'event'), fieldTo(scan, index, 'event')));
  }
  return Buffer.concat(lines);
}

const newline = Buffer.from('\n');

async function packed(body: Buffer, { encoding }: AcceptedBatch): Promise<Uint8Array> {
  if (encoding === 'identity') return body;
  return encoding === 'gzip' ? await gzipAsync(body, quick) : await zstdAsync(body);
}
