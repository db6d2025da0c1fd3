import type { RowBatch } from '../eventstore.ts';
import { blockHead } from '../native-columns.ts';
import { columnHeads, eventColumns } from '../rows.ts';
import { createShardHash } from './shard-key.ts';

/** A column of a block. */
interface Column {
  readonly bytes: Buffer;
  /** Bytes of each value, or 0 if they vary. */
  readonly width: number;
  /** Start of each row's value if their sizes vary, plus the end of the last. */
  readonly starts: Uint32Array;
}

/**
 * Splits the rows of a batch by shard, in order; a shard without rows gets `undefined`. `slots` maps the remainder of the hash to a
 * shard (cluster-layout.ts). The same batch is always split in the same way. Throws if the bytes are not a block of EventRowWriter.
 */
export function splitByShard(batch: RowBatch, slots: readonly number[]): (RowBatch | undefined)[] {
  const shards = Math.max(...slots) + 1;
  const columns = readColumns(Buffer.concat(batch.chunks), batch.rows);
  const shardOf = shardsOfRows(columns, batch.rows, slots);
  const counts = new Uint32Array(shards);
  for (let row = 0; row < batch.rows; row++) (counts[shardOf[row] as number] as number) += 1;
  const parts = columns.map((column) => partsOf(column, shardOf, counts));
  return Array.from(counts, (rows, shard) => {
    if (rows === 0) return undefined;
    const chunks: Uint8Array[] = [blockHead(eventColumns.length, rows)];
    for (const [at, head] of columnHeads.entries()) chunks.push(head, parts[at]?.[shard] as Uint8Array);
    return { chunks, rows };
  });
}

function shardsOfRows(columns: readonly Column[], rows: number, slots: readonly number[]): Uint16Array {
  const projects = columns[eventColumns.indexOf('project_id')] as Column;
  const ids = columns[eventColumns.indexOf('distinct_id')] as Column;
  const project = new DataView(projects.bytes.buffer, projects.bytes.byteOffset, projects.bytes.length);
  const hash = createShardHash();
  const shardOf = new Uint16Array(rows);
  for (let row = 0; row < rows; row++) {
    const end = ids.starts[row + 1] as number;
    const start = textStart(ids.bytes, ids.starts[row] as number);
    shardOf[row] = slots[hash(project.getInt32(row * 4, true), ids.bytes, start, end) % slots.length] as number;
  }
  return shardOf;
}

/** Returns where the text of a value starts, after its length. */
function textStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while ((bytes[at] as number) >= 0x80) at++;
  return at + 1;
}

function partsOf(column: Column, shardOf: Uint16Array, counts: Uint32Array): Uint8Array[] {
  const sizes = partSizes(column, shardOf, counts);
  const parts = Array.from(sizes, (size) => Buffer.allocUnsafeSlow(size));
  const filled = new Uint32Array(counts.length);
  const { bytes, width, starts } = column;
  for (let row = 0; row < shardOf.length; row++) {
    const shard = shardOf[row] as number;
    const start = width === 0 ? (starts[row] as number) : row * width;
    const end = width === 0 ? (starts[row + 1] as number) : start + width;
    const part = parts[shard] as Buffer;
    let to = filled[shard] as number;
    if (end - start <= shortCopyMax) for (let at = start; at < end; at++) part[to++] = bytes[at] as number;
    else bytes.copy(part, to, start, end);
    filled[shard] = (filled[shard] as number) + end - start;
  }
  return parts;
}

/** Below this a byte loop beats a call into native code. */
const shortCopyMax = 48;

function partSizes({ width, starts }: Column, shardOf: Uint16Array, counts: Uint32Array): Uint32Array {
  if (width > 0) return counts.map((rows) => rows * width);
  const sizes = new Uint32Array(counts.length);
  for (let row = 0; row < shardOf.length; row++) {
    const shard = shardOf[row] as number;
    sizes[shard] = (sizes[shard] as number) + (starts[row + 1] as number) - (starts[row] as number);
  }
  return sizes;
}

const widths: Readonly<Record<(typeof eventColumns)[number], number>> = {
  project_id: 4,
  day: 4,
  uuid: 16,
  timestamp: 8,
  received_at: 8,
  historical_migration: 1,
  event: 0,
  distinct_id: 0,
  properties: 0,
  import_run: 0,
};

function readColumns(block: Buffer, rows: number): Column[] {
  let at = expected(block, 0, blockHead(eventColumns.length, rows));
  const columns = eventColumns.map((name, i) => {
    at = expected(block, at, columnHeads[i] as Uint8Array);
    const width = widths[name];
    const starts = width === 0 ? startsOf(block, at, rows) : new Uint32Array(0);
    const size = width === 0 ? (starts[rows] as number) : width * rows;
    if (at + size > block.length) throw new RangeError(brokenBlock);
    const column = { bytes: block.subarray(at, at + size), width, starts };
    at += size;
    return column;
  });
  if (at !== block.length) throw new RangeError(brokenBlock);
  return columns;
}

const brokenBlock = 'expected a block of rows of EventRowWriter, got other bytes; the rows are damaged, not the store';

function expected(block: Buffer, at: number, bytes: Uint8Array): number {
  const end = at + bytes.length;
  if (block.compare(bytes, 0, bytes.length, at, Math.min(end, block.length)) !== 0) throw new RangeError(brokenBlock);
  return end;
}

/** Returns where each value starts, relative to the first. */
function startsOf(block: Buffer, from: number, rows: number): Uint32Array {
  const starts = new Uint32Array(rows + 1);
  let at = from;
  for (let row = 0; row < rows; row++) {
    starts[row] = at - from;
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = block[at++];
      if (byte === undefined || shift > 28) throw new RangeError(brokenBlock);
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    at += length;
  }
  starts[rows] = at - from;
  return starts;
}
