import type { Backlog } from './eventlog.ts';

/** What is known of a record without reading it. */
export interface RecordSize {
  readonly seq: number;
  readonly events: number;
  readonly bytes: number;
}

/** Sums of what waits. Takes 16 bytes per record, so that millions may wait. */
export interface BacklogQueue {
  /** `seq` must be above every one before. */
  push(size: RecordSize): void;
  dropThrough(seq: number): void;
  totals(): Backlog;
}

interface Chunk {
  readonly seqs: Float64Array;
  readonly events: Uint32Array;
  readonly bytes: Uint32Array;
  from: number;
  to: number;
}

const chunkRecords = 4096;

function createChunk(): Chunk {
  return {
    seqs: new Float64Array(chunkRecords),
    events: new Uint32Array(chunkRecords),
    bytes: new Uint32Array(chunkRecords),
    from: 0,
    to: 0,
  };
}

export function createBacklogQueue(): BacklogQueue {
  let chunks: Chunk[] = [];
  let records = 0;
  let events = 0;
  let bytes = 0;

  /** True when the whole chunk was dropped. */
  const dropFrom = (chunk: Chunk, seq: number): boolean => {
    while (chunk.from < chunk.to && (chunk.seqs[chunk.from] ?? 0) <= seq) {
      records -= 1;
      events -= chunk.events[chunk.from] ?? 0;
      bytes -= chunk.bytes[chunk.from] ?? 0;
      chunk.from += 1;
    }
    return chunk.from === chunk.to;
  };

  return {
    push: (size) => {
      let chunk = chunks.at(-1);
      if (chunk === undefined || chunk.to === chunkRecords) {
        chunk = createChunk();
        chunks.push(chunk);
      }
      chunk.seqs[chunk.to] = size.seq;
      chunk.events[chunk.to] = size.events;
      chunk.bytes[chunk.to] = size.bytes;
      chunk.to += 1;
      records += 1;
      events += size.events;
      bytes += size.bytes;
    },
    dropThrough: (seq) => {
      let dropped = 0;
      for (const chunk of chunks) {
        if (!dropFrom(chunk, seq)) break;
        dropped += 1;
      }
      if (dropped > 0) chunks = chunks.slice(dropped);
    },
    totals: () => ({ records, events, bytes }),
  };
}
