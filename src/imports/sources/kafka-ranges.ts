import type { JsonObject, JsonValue } from '../../base/json.ts';
import { SourceError, type SourcePart } from '../source.ts';

/** The offsets read of one partition: from ≤ offset < to. */
export interface PartitionRange {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** The ranges of a topic, fixed at the beginning of the export, so that later records change nothing. */
interface TopicRanges {
  /** Id of cluster and topic. */
  readonly topic: string;
  readonly ranges: readonly PartitionRange[];
}

/** Offsets in one part: small enough to restart after an interruption, which a compacted topic requires. */
const partOffsets = 100_000;
const partsMax = 20_000;

/**
 * Splits partitions into parts at multiples of the size, so that the same records are in the same part whatever follows. The
 * first part also contains all ranges, for a run that continues in another process.
 */
export function cutIntoParts({ topic, ranges }: TopicRanges): SourcePart[] {
  const all = ranges.reduce((sum, { from, to }) => sum + to - from, 0);
  const size = partOffsets * Math.max(1, Math.ceil(all / partOffsets / partsMax));
  const parts: SourcePart[] = [];
  for (const { partition, from: first, to: end } of ranges) {
    for (let from = first; from < end;) {
      const to = Math.min(end, Math.floor(from / size) * size + size);
      const detail = { partition, from, to, ...(parts.length === 0 && { ranges: packed(ranges) }) };
      const key = `partition ${partition}, offsets ${from} to ${to - 1}`;
      parts.push({ key, identity: `${topic} ${key}`, stable: false, isSnapshot: true, detail });
      from = to;
    }
  }
  return parts;
}

function packed(ranges: readonly PartitionRange[]): JsonValue {
  return ranges.map(({ partition, from, to }) => [partition, from, to]);
}

/** Returns the ranges of an earlier list of parts, or `undefined`. */
export function rangesOf(parts: readonly Pick<SourcePart, 'detail'>[]): readonly PartitionRange[] | undefined {
  const found = parts.find(({ detail }) => Array.isArray(detail?.['ranges']))?.detail?.['ranges'];
  if (!Array.isArray(found)) return undefined;
  return found.flatMap((each) => {
    const [partition, from, to] = Array.isArray(each) ? each : [];
    return isOffset(partition) && isOffset(from) && isOffset(to) ? [{ partition, from, to }] : [];
  });
}

/** Reads the range stored by `cutIntoParts`. */
export function rangeOfPart(key: string, { partition, from, to }: JsonObject = {}): PartitionRange {
  if (isOffset(partition) && isOffset(from) && isOffset(to)) return { partition, from, to };
  throw new SourceError(`the part ${key} does not contain its offsets`, { advice: 'startAgain' });
}

function isOffset(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

const shownMax = 20;

/** Describes for people where each partition begins and ends. */
export function describeRanges(ranges: readonly PartitionRange[]): string {
  const shown = ranges.slice(0, shownMax).map(({ partition, from, to }) => {
    const what = to > from ? `offsets ${from} to ${to - 1}` : `nothing (it ends at ${to})`;
    return `partition ${partition}: ${what}`;
  });
  const rest = ranges.length - shown.length;
  return shown.join(', ') + (rest > 0 ? ` and ${rest} more partitions` : '');
}
